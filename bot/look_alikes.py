"""Letters of another script that stand in for Latin ones in a host, a path, an address or a name."""

import re
import unicodedata

LOOK_ALIKE = "⚠ look-alike letters"

_WORD = re.compile(r"[^\W_]+")
_HOST = re.compile(r"[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)+")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
# whole scripts that no word mixes with Latin in good faith
_ELSEWHERE = re.compile("[\u0400-\u052f\u0531-\u058f\u13a0-\u13ff\uab70-\uabbf\u2c80-\u2cff\ua4d0-\ua4ff]")
_GREEK_TWINS = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικνορτυχω")
_CYRILLIC_TWINS = frozenset("асԁеһіјӏорԛѕԝхуүѵԍɡАВЕНІЈКМОРЅТХԜ")


def look_alike(text: str) -> bool:
    """True if a word of `text` mixes Latin letters with twins from elsewhere, or a host is made of twins."""
    if text.isascii():
        return "xn--" in text.lower() and any(_twin_host(host) for host in _HOST.findall(text))
    return any(_mixed(word) for word in _WORD.findall(text)) or any(_twin_host(host) for host in _HOST.findall(text))


def flagged(text: str) -> str:
    """`text`, with the warning behind it where it is due."""
    return f"{text} ({LOOK_ALIKE})" if look_alike(text) else text


def _mixed(word: str) -> bool:
    if not _LATIN.search(word):
        return False
    return bool(_ELSEWHERE.search(word)) or any(c in _GREEK_TWINS or _styled_ascii(c) for c in word)


def _styled_ascii(character: str) -> bool:
    """True of script, full-width and ligature letters: those that only compatibility turns into ASCII ones."""
    if character.isascii() or not character.isalpha():
        return False
    folded = unicodedata.normalize("NFKC", character)
    return folded.isascii() and folded.isalpha()


def _twin_host(host: str) -> bool:
    return any(_twins_only(_decoded(label)) for label in host.split("."))


def _decoded(label: str) -> str:
    if not label.lower().startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except UnicodeError:
        return label


def _twins_only(label: str) -> bool:
    letters = [character for character in label if character.isalpha()]
    foreign = [character for character in letters if not character.isascii()]
    return bool(foreign) and (_mixed(label) or all(c in _CYRILLIC_TWINS or c in _GREEK_TWINS for c in letters))
