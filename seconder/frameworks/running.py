"""`seconder.run`: the adapter is found by the type of the agent, so that no framework is loaded that is not in use."""

import importlib
import inspect
import re
from collections.abc import Mapping
from typing import Any

from seconder.errors import ConfigurationError

#: The package that an agent's type comes from, and the module that runs such an agent.
RUNNERS: Mapping[str, str] = {
    "agents": "seconder.frameworks.openai_agents",
    "langgraph": "seconder.frameworks.langgraph",
    "pydantic_ai": "seconder.frameworks.pydantic_ai",
    "contextlib": "seconder.frameworks.langgraph",  # a factory that opens a checkpointer and closes it
}

SLACK_USER = re.compile(r"[UW][A-Z0-9]{2,63}")


async def run(agent: Any, input: Any, **options: Any) -> Any:  # noqa: A002 - the frameworks' own name
    """The run's final output; where gated calls stop it, after people decided and it was resumed, here or elsewhere.

    `agent` is an agent of a known framework or a factory of one. The options are those of the framework's own
    `run` in `seconder.frameworks`; all know `client`, `name`, `version`, `requester`, `session`, `environment`,
    `reason`, `context_items`, `context`, `wait`, `timeout` and `run_id`.

    Raises: ConfigurationError where no adapter fits; what the framework's `run` raises.
    """
    module = _module(agent)
    if module is None and callable(agent):
        agent = await _Made.by(agent)
        module = _module(agent.first[0] if isinstance(agent.first, tuple) else agent.first)
    if module is None:
        found = type(agent.first if isinstance(agent, _Made) else agent)
        raise ConfigurationError(f"no adapter for a {found.__module__}.{found.__qualname__}: see docs/frameworks.md")
    return await importlib.import_module(module).run(agent, input, **options)


def requester_of(requester: str | dict[str, Any] | None) -> dict[str, Any] | None:
    """A Slack user id, an e-mail or a name as a pause names it; a dict as it is."""
    if not isinstance(requester, str):
        return requester
    if "@" in requester:
        return {"email": requester}
    return {"slack_user": requester} if SLACK_USER.fullmatch(requester) else {"name": requester}


def _module(agent: Any) -> str | None:
    for kind in type(agent).__mro__:
        module = RUNNERS.get(kind.__module__.partition(".")[0])
        if module is not None:
            return module
    return None


class _Made:
    """A factory whose first product was made to see its type; it is handed out once, then the factory makes others."""

    def __init__(self, factory: Any, first: Any) -> None:
        self._factory, self.first, self._used = factory, first, False

    @classmethod
    async def by(cls, factory: Any) -> "_Made":
        first = factory()
        return cls(factory, await first if inspect.isawaitable(first) else first)

    def __call__(self) -> Any:
        if self._used:
            return self._factory()
        self._used = True
        return self.first
