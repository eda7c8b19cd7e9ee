"""An agent whose refunds are counted by every run of the tool, for tests that kill processes."""

import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from agents import Agent, Model, ModelResponse, Usage, function_tool
from agents.testing import assistant_message, function_call

NAME = "crash-desk"
REFUNDS = "TEST_REFUNDS"  # the file that each run of the tool adds a line to


@function_tool(needs_approval=True)
def issue_refund(order_id: str, amount: float) -> str:
    """Pay money back."""
    with Path(os.environ[REFUNDS]).open("a") as file:
        file.write(json.dumps({"order": order_id, "amount": amount}) + "\n")
    return f"Refunded {amount:.0f} for {order_id}."


class Script(Model):
    """Asks for one refund, then says what it was told."""

    async def get_response(self, *_: Any, **call: Any) -> ModelResponse:
        given = [] if isinstance(call["input"], str) else call["input"]
        results = [item for item in given if isinstance(item, dict) and item.get("type") == "function_call_output"]
        if results:
            output = assistant_message(f"Told: {results[-1]['output']}")
        else:
            output = function_call("issue_refund", {"order_id": "O-991", "amount": 240}, call_id="call_1")
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """These runs do not stream."""
        message = "this model does not stream"
        raise RuntimeError(message)


def make_agent() -> Agent:
    return Agent(name=NAME, instructions="Refund.", model=Script(), tools=[issue_refund])


AGENTS: dict[str, Callable[[], Any]] = {NAME: make_agent}
