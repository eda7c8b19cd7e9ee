"""views.*: modals and the App Home."""

from typing import Any

from seconder.sandbox.arguments import Answered, Arguments
from seconder.sandbox.modals import Modals
from seconder.sandbox.storage import Doc


class ViewMethods:
    def __init__(self, modals: Modals) -> None:
        self._modals = modals

    def open(self, call: Arguments) -> Answered:
        return self._told(self._modals.open(call.required("trigger_id"), _view(call)))

    def push(self, call: Arguments) -> Answered:
        return self._told(self._modals.push(call.required("trigger_id"), _view(call)))

    def update(self, call: Arguments) -> Answered:
        return self._told(self._modals.update(
            _view(call), view_id=call.text("view_id") or None, external_id=call.text("external_id") or None,
            seen=call.text("hash") or None,
        ))  # fmt: skip

    def publish(self, call: Arguments) -> Answered:
        return self._told(self._modals.publish(call.required("user_id"), _view(call), call.text("hash") or None))

    def _told(self, view: Doc) -> Answered:
        return {"view": self._modals.shown(view)}


def _view(call: Arguments) -> Any:
    return call.json("view", "invalid_arguments")
