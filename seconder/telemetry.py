"""Logs: structlog and the standard library's loggers in one stream on stderr, secrets masked.

A value is masked by its name (SECRET_NAMES, or a name that ends in `_token`, `_secret`, `_key`), and
any text by its shape (Slack's and our tokens, webhook secrets, passwords in URLs).
"""

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, Final, Literal, TextIO

import structlog

MASK: Final = "***"
SECRET_NAMES: Final = frozenset(
    {
        "arguments",
        "authorization",
        "cookie",
        "key",
        "keys",
        "password",
        "response_url",
        "run_state",
        "secret",
        "state",
        "token",
        "webhook_secret",
    }
)
SECRET_ENDINGS: Final = ("_token", "_secret", "_key", "_keys", "_password")

_SHAPES = re.compile(r"\b(xox[a-z]-|xapp-|sdr_|whsec_)[A-Za-z0-9+/=_-]{4,}")
_FOREIGN = re.compile(r"\b(sk-|gh[pousr]_|github_pat_|glpat-|AKIA)[A-Za-z0-9_-]{12,}")  # of others, in their errors
_BEARER = re.compile(r"\b(bearer\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_IN_QUERY = re.compile(r"([?&](?:api_?key|access_token|token|secret|password|signature)=)[^&\s\"']+", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"(://[^/\s:@]{0,200}:)[^/\s@]{1,500}@")
_RESPONSE_URL = re.compile(r"(https://hooks\.slack\.com/)[^\s\"']+")


def configure(kind: Literal["console", "json"]) -> None:
    """From now on everything logged in this process goes to stderr in this form, times in UTC."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        mask,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _renderer(kind)],
    )
    handler = _Stderr()
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for old in [known for known in root.handlers if isinstance(known, _Stderr)]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger("seconder").setLevel(logging.INFO)


def logger(name: str) -> structlog.stdlib.BoundLogger:
    """Logs under this name; what it may say depends on the last `configure`."""
    found: structlog.stdlib.BoundLogger = structlog.get_logger(name)
    return found


def mask(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A processor: the event without secrets, at any depth."""
    for name, value in event.items():
        event[name] = _masked(name, value)
    return event


def _masked(name: str, value: Any) -> Any:
    if value is not None and (name.lower() in SECRET_NAMES or name.lower().endswith(SECRET_ENDINGS)):
        return MASK
    match value:
        case str() | BaseException():
            return hide(str(value))
        case bytes():
            return f"{len(value)} bytes"
        case Mapping():
            return {inner: _masked(str(inner), item) for inner, item in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_masked("", item) for item in value]
        case _:
            return value


def hide(text: str) -> str:
    """The text with whatever looks like a secret masked."""
    for shape in (_SHAPES, _FOREIGN, _BEARER, _IN_QUERY, _RESPONSE_URL):
        text = shape.sub(lambda found: found[1] + MASK, text)
    return _URL_PASSWORD.sub(lambda found: f"{found[1]}{MASK}@", text)


def _renderer(kind: Literal["console", "json"]) -> structlog.typing.Processor:
    if kind == "json":
        return structlog.processors.JSONRenderer(default=str)
    return structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback, pad_event_to=30
    )


class _Stderr(logging.StreamHandler[TextIO]):
    """Writes to whatever sys.stderr is at the moment of writing."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    @stream.setter
    def stream(self, _value: TextIO) -> None:
        raise AttributeError("the stream is sys.stderr")
