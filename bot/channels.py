"""From the words of a route to a channel id: `#name`, an id, or `@USERID` for a direct message."""

from collections.abc import Callable, Iterator

from slack_sdk import WebClient

KEEP = 300.0  # seconds a look at all channels is good for
AGAIN = 10.0  # seconds before a missing name is looked for again
PAGE = 1000


class ChannelMissing(Exception):
    """Slack has no channel of this name that the bot can see."""


class Channels:
    """Looks names up; raises what the client raises."""

    def __init__(self, client: WebClient, monotonic: Callable[[], float]) -> None:
        self._client, self._monotonic = client, monotonic
        self._names: dict[str, str] = {}
        self._looked: float | None = None

    def find(self, channel: str) -> str:
        """The id. Raises: ChannelMissing, SlackApiError, OSError."""
        if channel.startswith("@"):
            return str(self._client.conversations_open(users=channel[1:])["channel"]["id"])
        if not channel.startswith("#"):
            return channel
        name = channel[1:]
        age = None if self._looked is None else self._monotonic() - self._looked
        if age is None or age > KEEP or (name not in self._names and age > AGAIN):
            self._names = dict(self._all())
            self._looked = self._monotonic()
        if name not in self._names:
            message = f"there is no channel {channel} that the bot can see"
            raise ChannelMissing(message)
        return self._names[name]

    def _all(self) -> Iterator[tuple[str, str]]:
        cursor = ""
        while True:
            page = self._client.conversations_list(
                types="public_channel,private_channel", exclude_archived=True, limit=PAGE, cursor=cursor
            )
            for channel in page["channels"]:
                yield channel["name"], channel["id"]
            cursor = (page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return
