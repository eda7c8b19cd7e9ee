"""Submitting and closing modals: what is sent, and what the app's answer does to the stack."""

from typing import Any

from seconder.sandbox import entries
from seconder.sandbox.delivery import Answer
from seconder.sandbox.entries import State
from seconder.sandbox.people_acts import TROUBLE, Acts
from seconder.sandbox.refusal import Refused
from seconder.sandbox.storage import Doc

ACTIONS = frozenset({"errors", "update", "push", "clear"})


class Forms:
    """The person's side of a modal."""

    def __init__(self, acts: Acts) -> None:
        self._acts = acts
        self._modals = acts.modals

    async def submit(
        self, user: str, view_id: str | None = None, *, values: Doc | None = None, state: State | None = None
    ) -> Doc:
        """Send the form; fields that are not named keep what they show.

        `values` are plain ({block: {action: value}}), `state` are entries as the page holds them. The answer has
        `acked`, `response_action`, `errors` by block and the `view` now on top. What Slack itself would complain
        about (required, too short, not a number) comes back in `errors` with `sent` false.

        Raises: Refused `not_found` where the person has no such modal open.
        """
        person = self._acts.workspace.directory.user_named(user)
        view = self._open_view(person["id"], view_id)
        self._modals.type_in(view["id"], _entries(view, values or {}) if state is None else state)
        shown = self._modals.shown(view)
        wrong = entries.complaints(view["blocks"], shown["state"]["values"])
        if wrong:
            return self._result(person["id"], Answer(acked=False, error="incomplete"), None, wrong) | {"sent": False}
        trigger = self._acts.handles.trigger(person["id"], view["id"])
        answer = await self._acts.send("interactive", self._acts.payloads.view_submission(person, shown, trigger))
        return self._apply(person["id"], view, answer)

    async def close(self, user: str) -> Doc:
        """Close the modal on top; the app is told where it asked to be."""
        person = self._acts.workspace.directory.user_named(user)
        shown = [self._modals.shown(view) for view in self._modals.stack(person["id"])]
        closed = self._modals.close_top(person["id"])
        told = Answer(acked=True)
        for view in [v for v in reversed(shown) if v["id"] in {c["id"] for c in closed}]:
            if view["notify_on_close"]:
                payload = self._acts.payloads.view_closed(person, view, cleared=bool(view["clear_on_close"]))
                told = await self._acts.send("interactive", payload)
        return {"acked": told.acked, "closed": [v["id"] for v in closed], "error": told.error}

    def _open_view(self, user: str, view_id: str | None) -> Doc:
        stack = self._modals.stack(user)
        for view in reversed(stack):
            if view_id in (None, view["id"]):
                return view
        raise Refused("not_found")

    def _apply(self, user: str, view: Doc, answer: Answer) -> Doc:
        if not answer.acked:
            return self._result(user, answer, None, {})
        body = answer.body if isinstance(answer.body, dict) else {}
        action = body.get("response_action")
        try:
            errors = self._act(user, view, body, action) if answer.body else self._done(user, view)
        except Refused as refused:
            wrong = Answer(acked=False, status=200, error=refused.error)
            return self._result(user, wrong, action, {}) | {"messages": list(refused.messages)}
        return self._result(user, answer, action, errors)

    def _done(self, user: str, view: Doc) -> dict[str, str]:
        self._modals.remove(user, view["id"])
        return {}

    def _act(self, user: str, view: Doc, body: Doc, action: Any) -> dict[str, str]:
        """Raises: Refused `invalid_response` for an answer that Slack cannot use."""
        if action not in ACTIONS:
            raise Refused("invalid_response", [f"[ERROR] unsupported response_action: {action}"])
        if action == "errors":
            return _known_errors(view, body.get("errors"))
        if action == "update":
            self._modals.update(body.get("view") or {}, view_id=view["id"], external_id=None, seen=None)
        if action == "push":
            self._modals.put_on_top(user, body.get("view") or {})
        if action == "clear":
            self._modals.clear(user)
        return {}

    def _result(self, user: str, answer: Answer, action: str | None, errors: dict[str, str]) -> Doc:
        stack = self._modals.stack(user)
        top = self._modals.shown(stack[-1]) if stack else None
        result: Doc = {
            "acked": answer.acked, "sent": True, "response_action": action, "errors": errors, "view": top,
        }  # fmt: skip
        return result if answer.acked else result | {"error": answer.error, "said": TROUBLE}


def _known_errors(view: Doc, errors: Any) -> dict[str, str]:
    inputs = {b["block_id"] for b in view["blocks"] if b["type"] == "input"}
    if not isinstance(errors, dict) or not errors or not set(errors) <= inputs:
        raise Refused("invalid_response", ["[ERROR] errors must name input blocks of the view"])
    return {str(k): str(v) for k, v in errors.items()}


def _entries(view: Doc, values: Doc) -> State:
    found: State = {}
    shown = {(b["block_id"], e["action_id"]): e for b, e in entries.elements(view["blocks"])}
    for block, actions in values.items():
        for action, value in actions.items():
            if (block, action) not in shown:
                raise Refused("no_such_field", [f"[ERROR] {block}/{action} is not in the view"])
            found.setdefault(block, {})[action] = entries.entry(shown[block, action], value)
    return found
