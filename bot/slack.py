"""The client of Slack's Web API, and what its failures mean."""

from dataclasses import dataclass

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

SECONDS = 10  # for one answer
HURRIED = 2  # for an answer that a press waits for
SERVER_TROUBLE = 500
TOO_MANY = 429
LAYOUT = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long"})
SHUT_OUT = frozenset({"account_inactive", "invalid_auth", "not_authed", "token_expired", "token_revoked"})
VANISHED = frozenset({"message_not_found", "thread_not_found"})


def make_client(token: str, url: str) -> WebClient:
    """A client that calls once: the SDK's own retry would post a card twice."""
    return WebClient(token=token, base_url=url if url.endswith("/") else f"{url}/", retry_handlers=[], timeout=SECONDS)


def hurried(client: WebClient) -> WebClient:
    """The same for calls that a press waits for: one that hangs does not keep its thread from the next press."""
    return WebClient(token=client.token, base_url=client.base_url, retry_handlers=[], timeout=HURRIED)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a call failed: `certain` where Slack surely did nothing; `wait` in seconds where Slack said how long."""

    error: str
    certain: bool
    wait: float | None = None


def trouble(error: Exception) -> Trouble:
    """What the failure of a call means. Connections that broke leave it open what Slack did."""
    if not isinstance(error, SlackApiError):
        return Trouble(f"{type(error).__name__}: {error}", certain=False)
    response = error.response
    status = getattr(response, "status_code", 200)
    if status == TOO_MANY:
        headers = {name.lower(): value for name, value in dict(response.headers).items()}
        return Trouble("ratelimited", certain=True, wait=float(headers.get("retry-after", 1)))
    if status >= SERVER_TROUBLE:
        return Trouble(f"Slack answered {status}", certain=False)
    data = response.data if isinstance(response.data, dict) else {}
    return Trouble(str(data.get("error", "unknown")), certain=True)
