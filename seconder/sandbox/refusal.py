"""The one error of the workspace: it refuses a call the way Slack does."""

from collections.abc import Sequence


class Refused(Exception):
    """A call that Slack would answer with `ok: false`; `error` is Slack's word for it."""

    def __init__(self, error: str, messages: Sequence[str] = ()) -> None:
        super().__init__(error, *messages)
        self.error = error
        self.messages = tuple(messages)
