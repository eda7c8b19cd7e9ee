"""Whether Slack still has the cards that somebody is to press: a few at a time, since Slack counts updates."""

from seconder.desk import repost
from seconder.desk.desk import Desk

AT_A_TIME = 10  # of the 45 updates a minute that the dispatcher allows itself; decisions need the rest


class Reconciler:
    """Goes round all cards of pending reviews; the dispatcher does the looking."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._after = desk, ""

    def check_some(self) -> None:
        """The next cards are compared with Slack soon; those that were deleted are posted again."""
        self._after = repost.doubt(self._desk, after=self._after, limit=AT_A_TIME)
