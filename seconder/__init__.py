"""No agent action without a second: what agent code imports, loaded at first use."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seconder.frameworks.effect import effect_key
    from seconder.frameworks.follow import Paused
    from seconder.frameworks.running import run
    from seconder.gate import connect

__all__ = ["Paused", "connect", "effect_key", "run"]

_HOMES = {
    "Paused": "seconder.frameworks.follow",
    "connect": "seconder.gate",
    "effect_key": "seconder.frameworks.effect",
    "run": "seconder.frameworks.running",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        message = f"module 'seconder' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(_HOMES[name]), name)
