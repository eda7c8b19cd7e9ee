"""The Bolt app: sync, answers before it returns, authorised from what the desk knows."""

import logging
from concurrent.futures import Executor

import structlog
from slack_bolt import App, BoltResponse
from slack_bolt.authorization import AuthorizeResult
from slack_sdk import WebClient

from seconder.bot.listeners import Hands, listen
from seconder.bot.people import Refresher
from seconder.desk import people
from seconder.desk.desk import Desk
from seconder.errors import NotFound

THREADS = 32  # Bolt's own five starve when presses come together

log = structlog.get_logger("seconder.bot")


def build_app(
    desk: Desk, client: WebClient, refresher: Refresher, *, signing_secret: str | None, executor: Executor
) -> App:
    """An app that answers every press; it makes no call to Slack while it is built.

    Without a signing secret it may only be used over Socket Mode, which is not signed. The executor runs what
    comes after the answer; whoever made it shuts it down.
    """

    def authorize(enterprise_id: str | None, team_id: str | None) -> AuthorizeResult:
        workspace = people.workspace(desk)
        if workspace is None:
            raise NotFound("workspace", team_id or "")
        return AuthorizeResult(
            enterprise_id=enterprise_id,
            team_id=team_id,
            bot_token=client.token,
            bot_id=workspace.bot_id,
            bot_user_id=workspace.bot_user_id,
        )

    app = App(
        client=client,
        signing_secret=signing_secret or "",
        authorize=authorize,
        process_before_response=True,
        listener_executor=executor,
        token_verification_enabled=False,
        request_verification_enabled=signing_secret is not None,
        logger=_quiet_logger(),
    )

    @app.error
    def failed(error: Exception) -> BoltResponse:
        """No acknowledgement: the person sees Slack's own warning and presses again; nothing was decided."""
        log.error("bot.failed", exc_info=error)
        return BoltResponse(status=500, body="")

    listen(app, Hands(desk, refresher))
    return app


def _quiet_logger() -> logging.Logger:
    """Bolt logs whole bodies at INFO where a signature is wrong, and at WARNING every event that nobody takes."""
    logger = logging.getLogger("seconder.bolt")
    logger.setLevel(logging.ERROR)
    return logger
