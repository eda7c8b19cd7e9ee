"""Agent frameworks by the name that a pause carries; each is imported where a run of it is resumed.

An adapter turns a stopped run into a pause (`POST /v1/pauses`), and a claim into a resumed run.
"""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

from seconder.errors import ConfigurationError, ResumeRefused
from seconder.gate import Claim, Client

Factory: TypeAlias = Callable[[], Any]
"""Makes an agent anew, `Agent` or `(Agent, context)`, or an awaitable of one; called for every resume."""

Agents: TypeAlias = Mapping[str, Factory]
"""Agent names, as in a pause, and their factories: a row names an agent, never code."""


@dataclass(frozen=True, slots=True)
class Finished:
    """The run ended; `json_output` is what the desk keeps of `final_output`."""

    final_output: Any
    json_output: Any


@dataclass(frozen=True, slots=True)
class PausedAgain:
    """The run stopped once more; `pause` is the body to submit."""

    pause: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failed:
    """The run ended with an error; with `retry` the same pause may be resumed again later."""

    error: str
    retry: bool


Resumed: TypeAlias = Finished | PausedAgain | Failed


class Adapter(Protocol):
    """One framework."""

    async def resume(self, claim: Claim, factory: Factory, client: Client) -> Resumed:
        """How the claimed run went on.

        Raises: ResumeRefused where nothing was executed and nothing will be; LeaseLost; whatever the agent raises.
        """
        ...

    def may_pass(self, error: Exception) -> bool:
        """Whether an error that the agent raised may be gone at another try."""
        ...


MODULES: Mapping[str, str] = {
    "openai-agents": "seconder.frameworks.openai_agents",
    "langgraph": "seconder.frameworks.langgraph",
    "pydantic-ai": "seconder.frameworks.pydantic_ai",
}
EXTRAS: Mapping[str, str] = {"openai-agents": "openai", "langgraph": "langgraph", "pydantic-ai": "pydantic-ai"}


def adapter(framework: str) -> Adapter:
    """The adapter of this framework.

    Raises: ResumeRefused where there is none; ConfigurationError where its package is not installed.
    """
    if framework not in MODULES:
        raise ResumeRefused(f"this version of Seconder does not know the agent framework {framework!r}")
    try:
        return cast(Adapter, importlib.import_module(MODULES[framework]))
    except ModuleNotFoundError as error:
        message = f"{framework} is not installed here: pip install 'seconder[{EXTRAS[framework]}]' ({error})"
        raise ConfigurationError(message) from error
