"""The demo's agent: a support agent on the OpenAI Agents SDK whose model follows a script.

The tools are real functions with real effects in the demo's folder: a refund is a line in
`refunds.jsonl`, a mail a line in `mails.jsonl`. The script decides by what the conversation holds,
so that any process can go on with a run that another one began.
"""

import json
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from agents import Agent, Model, ModelResponse, Usage, function_tool
from agents.testing import assistant_message, function_call

import seconder
from seconder.demo.cases import CASES, Case

NAME = "refund-desk"
VERSION = "1"
FOLDER = "SECONDER_DEMO_FOLDER"  # where the tools write; set by the demo


@function_tool
def lookup_order(order_id: str) -> str:
    """Look an order up. Reads only."""
    case = next(case for case in CASES if case.order == order_id)
    return json.dumps({"order": case.order, "customer": case.customer, "total": case.total, "currency": "EUR"})


@function_tool(needs_approval=True)
def issue_refund(order_id: str, amount: float, currency: str, reason: str) -> str:
    """Pay money back to the customer's card."""
    key = _write("refunds.jsonl", order=order_id, amount=amount, currency=currency, reason=reason)
    return f"Refunded {amount:.2f} {currency} for {order_id} (reference {key[-8:]})."


@function_tool(needs_approval=True)
def send_email(to: str, subject: str, body: str) -> str:
    """Send an e-mail to a customer."""
    _write("mails.jsonl", to=to, subject=subject, body=body)
    return f"Sent to {to}."


def _write(name: str, **line: Any) -> str:
    """The line is in the file once per idempotency key, as a payment provider would keep it."""
    key = seconder.effect_key() or ""
    path = Path(os.environ.get(FOLDER, "seconder-demo")) / name
    known = path.read_text().splitlines() if path.exists() else []
    if not any(json.loads(entry)["key"] == key for entry in known):
        with path.open("a") as file:
            file.write(json.dumps({"key": key, **line}) + "\n")
    return key


class Script(Model):
    """A model that goes through the refund step by step, reading where it is from the conversation."""

    async def get_response(self, *_: Any, **call: Any) -> ModelResponse:
        given = call["input"]
        items = [{"role": "user", "content": given}] if isinstance(given, str) else list(given)
        return ModelResponse(output=[_next(items)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        """The demo does not stream."""
        message = "the demo's model does not stream"
        raise RuntimeError(message)


def _next(items: list[Any]) -> Any:
    case = _case(items)
    results = [item for item in items if _get(item, "type") == "function_call_output"]
    calls = [_get(item, "name") for item in items if _get(item, "type") == "function_call"]
    if not calls:
        return function_call("lookup_order", {"order_id": case.order}, call_id=f"call_{case.order}_order")
    last = str(_get(results[-1], "output")) if results else ""
    if calls[-1] == "lookup_order":
        refund = {"order_id": case.order, "amount": case.total, "currency": "EUR", "reason": case.reason}
        return function_call("issue_refund", refund, call_id=f"call_{case.order}_refund")
    if calls[-1] == "issue_refund" and "Refunded" in last:
        mail = {"to": case.email, "subject": f"Your refund for {case.order}", "body": _body(case, last)}
        return function_call("send_email", mail, call_id=f"call_{case.order}_mail")
    if calls[-1] == "issue_refund":
        return assistant_message(f"No refund was made for {case.order}. I was told: {last}")
    said = "and the customer has been told." if "Sent to" in last else "but no mail was sent."
    return assistant_message(f"The refund for {case.order} is done, {said}")


def _body(case: Case, told: str) -> str:
    paid = told[told.index("Refunded") :].split(" (", maxsplit=1)[0].removeprefix("Refunded ")
    return (
        f"Dear {case.person},\n\nwe are sorry about {case.trouble}. We have refunded {paid}; it reaches your card "
        "within five days.\n\nKind regards\nAcme support"
    )


def _case(items: list[Any]) -> Case:
    text = json.dumps([_get(item, "content") for item in items if _get(item, "role") == "user"], default=str)
    return next(case for case in CASES if case.order in text)


def _get(item: Any, name: str) -> Any:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def make_agent() -> Agent:
    """The agent, made anew for every resume."""
    return Agent(
        name=NAME,
        instructions="Help customers with refunds. Look the order up before you propose anything.",
        model=Script(),
        tools=[lookup_order, issue_refund, send_email],
    )


AGENTS: dict[str, Callable[[], Any]] = {NAME: make_agent}
