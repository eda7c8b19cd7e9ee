"""Secrets are shown as `•••••• (hidden, 32 characters)`: fields declared secret, and what looks like one.

A field declared secret hides whatever it holds, at any depth, and its text wherever else it turns up.
Without a declaration, text under a name such as `password` and texts of well-known shapes are hidden.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from seconder.action import Json
from seconder.decision import Edited
from seconder.review import Review

BULLETS = "••••••"
SHORTEST_ECHO = 6  # a shorter secret is also an ordinary word elsewhere

_NAMES = re.compile(
    r"(?:password|passwd|passphrase|secret|credentials?|authorization"
    r"|(?:api|access|private|secret|signing|encryption)[_-]?key"
    r"|(?:^|access|refresh|auth|api|bot|bearer|session|security)[_-]?token)$",
    re.IGNORECASE,
)
_SHAPES = re.compile(
    r"""
      (?<![A-Za-z0-9])(?:
        sk-[A-Za-z0-9_-]{16,}
      | sk_(?:live|test)_[A-Za-z0-9]{10,}
      | xox[a-z]-[A-Za-z0-9-]{8,} | xapp-[A-Za-z0-9-]{8,}
      | (?:AKIA|ASIA)[0-9A-Z]{16}
      | gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,}
      | glpat-[A-Za-z0-9_-]{16,}
      | AIza[A-Za-z0-9_-]{35}
      | whsec_[A-Za-z0-9+/=]{16,}
      | eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*
      )
    | -----BEGIN\ (?:[A-Z]+\ ){0,3}PRIVATE\ KEY-----(?:[^-]|-(?!----))*(?:-----END\ [A-Z ]{0,40}-----)?
    | (?<=[Bb]earer\ )[^\s"',;]{8,}
    | (?<=[Bb]asic\ )[A-Za-z0-9+/]{12,}={0,2}
    """,
    re.VERBOSE,
)
_URL_PASSWORD = re.compile(r"(://[^/\s:@?#]{0,200}:)([^/\s@?#]{1,500})(?=@)")
_URL_PARAMETER = re.compile(
    r"([?&;](?:api[_-]?key|access[_-]?token|auth[_-]?token|token|client[_-]?secret|secret|password|signature|sig)=)([^&;\s#\"']+)",
    re.IGNORECASE,
)


def hidden(length: int) -> str:
    """What stands where a secret of `length` characters is."""
    return f"{BULLETS} (hidden, {length:,} {'character' if length == 1 else 'characters'})"


@dataclass(frozen=True, slots=True)
class Masker:
    """`names` are fields declared secret (`card_number`, `body.pin`), `texts` is what they hold, longest first."""

    names: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()

    def text(self, text: str) -> str:
        """`text` without the secrets in it."""
        for secret in self.texts:
            text = text.replace(secret, hidden(len(secret)))
        text = _SHAPES.sub(lambda found: hidden(len(found[0])), text)
        text = _URL_PASSWORD.sub(lambda found: found[1] + hidden(len(found[2])), text)
        return _URL_PARAMETER.sub(lambda found: found[1] + hidden(len(found[2])), text)

    def value(self, value: Json, path: str = "") -> Json:
        """A copy of `value` without the secrets in it; `path` is its name, dotted."""
        if self._is_declared(path) and value not in (None, ""):
            return hidden(len(_as_text(value)))
        match value:
            case str():
                return hidden(len(value)) if value.strip() and _NAMES.search(path) else self.text(value)
            case Mapping():
                return {name: self.value(item, f"{path}.{name}" if path else name) for name, item in value.items()}
            case list() | tuple():
                return [self.value(item, path) for item in value]
            case _:
                return self._number(value)

    def hides(self, value: Json, path: str) -> bool:
        """True if a part of `value` is hidden."""
        return bool(self.value(value, path) != Masker.plain(value))

    @staticmethod
    def plain(value: Json) -> Json:
        """A copy of `value` in plain dicts and lists."""
        match value:
            case Mapping():
                return {name: Masker.plain(item) for name, item in value.items()}
            case list() | tuple():
                return [Masker.plain(item) for item in value]
            case _:
                return value

    def _is_declared(self, path: str) -> bool:
        return path in self.names or path.rpartition(".")[2] in self.names

    def _number(self, value: Json) -> Json:
        if self.texts and isinstance(value, int | float) and str(value) in self.texts:
            return hidden(len(str(value)))
        return value


def masker_of(review: Review) -> Masker:
    """The masker for everything that is shown of `review`."""
    names = frozenset(name for name, rule in review.verdict.fields.items() if rule.secret)
    if not names:
        return Masker()
    searching = Masker(names)
    actions = [review.action, review.decision.action if isinstance(review.decision, Edited) else None]
    found = {text for action in actions if action for text in _declared(searching, action.arguments, "")}
    return Masker(names, tuple(sorted(found, key=lambda text: (-len(text), text))))


def _declared(masker: Masker, value: Json, path: str) -> Iterator[str]:
    if path and masker._is_declared(path):  # noqa: SLF001  # one module
        yield from _leaves(value)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from _declared(masker, item, f"{path}.{name}" if path else name)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _declared(masker, item, path)


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool) and len(str(value)) >= SHORTEST_ECHO:
        yield str(value)


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(Masker.plain(value), ensure_ascii=False)
