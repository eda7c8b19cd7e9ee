"""The gate stands before every gated tool, wherever in the run's agents it is."""

from typing import Any

import pytest
from agents import Agent, handoff
from agents.mcp import MCPServer
from mcp.types import CallToolResult, GetPromptResult, ListPromptsResult, TextContent, Tool

import seconder
from seconder.frameworks import Failed, Finished, PausedAgain
from tests.support.agents import agent, call, heard, ledger, refund, resumed, write
from tests.support.memory_desk import MemoryDesk

pytestmark = pytest.mark.anyio

REFUND = call("refund", "c1", order="O-991", amount=240)


async def stopped(desk: MemoryDesk, made: Agent[Any]) -> None:
    assert isinstance(await seconder.run(made, "please", client=desk, wait=False), seconder.Paused)


def with_inner(outer: list[Any], inner: list[Any], **more: Any) -> tuple[Agent[Any], Agent[Any]]:
    """An agent with another one as a tool, and that other one."""
    inside = agent(*inner, name="Inner", tools=[refund])
    tool = inside.as_tool("ask_inner", "Ask the inner agent.", **more)
    return agent(*outer, tools=[tool, refund]), inside


async def test_an_agent_that_was_handed_over_to_runs_its_tool_as_decided(desk: MemoryDesk) -> None:
    await stopped(
        desk,
        agent([call("transfer_to_billing", "h1")], tools=[], handoffs=[agent([REFUND], name="Billing")]),
    )
    await desk.edit("c1", amount=120)
    billing = agent("done", name="Billing")

    assert await resumed(desk, lambda: agent(tools=[], handoffs=[billing])) == Finished("done", "done")
    assert [entry["amount"] for entry in ledger()] == [120.0]
    assert "amount 240 -> 120" in heard(billing)[-1]


async def test_a_handover_in_the_resumed_run_leads_to_gated_tools(desk: MemoryDesk) -> None:
    await stopped(desk, agent([REFUND]))
    await desk.approve("c1")
    billing = agent([call("refund", "c2", order="O-2", amount=5)], name="Billing")
    billing.handoffs = [handoff(agent(name="Third"))]
    root = agent([call("transfer_to_billing", "h1")], handoffs=[handoff(billing)])

    assert isinstance(await resumed(desk, lambda: root), PausedAgain)
    assert len(ledger()) == 1
    assert desk.review_of("c2")["status"] == "pending"


async def test_agents_that_hand_over_to_each_other_are_copied_once(desk: MemoryDesk) -> None:
    def pair(*steps: Any) -> Agent[Any]:
        root = agent(*steps)
        other = agent(name="Other", handoffs=[root])
        root.handoffs = [other]
        return root

    await stopped(desk, pair([REFUND]))
    await desk.approve("c1")

    assert await resumed(desk, lambda: pair("done")) == Finished("done", "done")
    assert len(ledger()) == 1


async def test_an_agent_as_a_tool_stops_inside_and_goes_on_as_decided(desk: MemoryDesk) -> None:
    await stopped(desk, with_inner([[call("ask_inner", "c0", input="go")]], [[REFUND]])[0])
    await desk.edit("c1", amount=120)
    outer, inner = with_inner(["done"], ["inner done"])

    assert await resumed(desk, lambda: outer) == Finished("done", "done")
    assert [(entry["amount"], entry["key"] is None) for entry in ledger()] == [(120.0, False)]
    assert "amount 240 -> 120" in heard(inner)[0]
    assert heard(outer) == ["inner done"]


async def test_a_call_inside_an_agent_as_a_tool_that_was_rejected_is_not_executed(desk: MemoryDesk) -> None:
    await stopped(desk, with_inner([[call("ask_inner", "c0", input="go")]], [[REFUND]])[0])
    await desk.reject("c1", "no")
    outer, inner = with_inner(["done"], ["inner done"])

    await resumed(desk, lambda: outer)

    assert ledger() == []
    assert heard(inner) == ["Not executed: U01ALICE rejected this call: no"]


async def test_a_crash_after_an_effect_inside_an_agent_as_a_tool_does_not_repeat_it(desk: MemoryDesk) -> None:
    await stopped(desk, with_inner([[call("ask_inner", "c0", input="go")]], [[REFUND]])[0])
    await desk.approve("c1")
    await resumed(desk, lambda: with_inner([], [])[0])
    [pause] = desk.pauses.values()
    pause["outcome"] = None

    await resumed(desk, lambda: with_inner(["done"], ["inner done"])[0])

    assert len(ledger()) == 1


async def test_a_gated_agent_as_a_tool_is_decided_and_then_what_it_does_inside(desk: MemoryDesk) -> None:
    outer = [[call("ask_inner", "c0", input="go")]]
    await stopped(desk, with_inner(outer, [], needs_approval=True)[0])
    await desk.approve("c0")

    again = await resumed(desk, lambda: with_inner([], [[REFUND]], needs_approval=True)[0])
    assert isinstance(again, PausedAgain)
    assert ledger() == []

    await desk.approve("c1")
    made, _ = with_inner(["done"], ["inner done"], needs_approval=True)
    assert await resumed(desk, lambda: made) == Finished("done", "done")
    assert len(ledger()) == 1
    assert heard(made) == ["inner done"]
    assert [effect.status for effect in desk.effects.values()] == ["succeeded", "succeeded"]


async def test_an_agent_inside_a_tool_that_cannot_be_gated_stops_the_resume(
    desk: MemoryDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await stopped(desk, with_inner([[call("ask_inner", "c0", input="go")]], [[REFUND]])[0])
    await desk.approve("c1")
    monkeypatch.setattr("seconder.frameworks.openai_graph._with_agent", lambda *_: None)

    result = await resumed(desk, lambda: with_inner(["done"], ["inner done"])[0])

    assert isinstance(result, Failed)
    assert "cannot be gated" in result.error
    assert ledger() == []


class Shop(MCPServer):
    """An MCP server in this process, with one tool that needs approval."""

    def __init__(self) -> None:
        super().__init__(require_approval="always")

    @property
    def name(self) -> str:
        return "shop"

    async def connect(self) -> None:
        """There is nothing to connect to."""

    async def cleanup(self) -> None:
        """There is nothing to clean up."""

    async def list_tools(self, *_: Any, **__: Any) -> list[Tool]:
        schema = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
        return [Tool(name="order", description="Order an item.", input_schema=schema)]

    async def call_tool(self, tool_name: str, arguments: dict[str, Any] | None, *_: Any, **__: Any) -> CallToolResult:
        write(tool_name, **(arguments or {}))
        return CallToolResult(content=[TextContent(type="text", text="ordered")])

    async def list_prompts(self) -> ListPromptsResult:
        return ListPromptsResult(prompts=[])

    async def get_prompt(self, name: str, arguments: dict[str, Any] | None = None) -> GetPromptResult:
        return GetPromptResult(messages=[])


async def test_a_tool_of_an_mcp_server_runs_as_decided(desk: MemoryDesk) -> None:
    await stopped(desk, agent([call("order", "c1", item="a lamp")], tools=[], mcp_servers=[Shop()]))
    assert desk.review_of("c1")["action"]["summary"] == "Order an item."
    await desk.edit("c1", item="a chair")
    made = agent("done", tools=[], mcp_servers=[Shop()])

    await resumed(desk, lambda: made)

    assert [(entry["item"], entry["key"] is None) for entry in ledger()] == [("a chair", False)]
    assert "item a lamp -> a chair" in heard(made)[0]
