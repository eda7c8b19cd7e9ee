"""The Web API at /api/: tokens, arguments, rate limits, planned faults, and the answer in Slack's shape."""

import asyncio
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from seconder.sandbox.arguments import Answered, Arguments
from seconder.sandbox.chat_methods import ChatMethods
from seconder.sandbox.conversation_methods import ConversationMethods
from seconder.sandbox.journal import Fault, Faults, Rates
from seconder.sandbox.modals import Modals
from seconder.sandbox.people_acts import Acts
from seconder.sandbox.people_methods import PeopleMethods
from seconder.sandbox.refusal import Refused
from seconder.sandbox.socket_mode import SocketMode
from seconder.sandbox.view_methods import ViewMethods
from seconder.sandbox.workspace import Workspace

SILENCE_SECONDS = 35.0

Method = Callable[[Arguments], Answered]


class WebApi:
    """Serves the methods; `socket` is None where the app is called over HTTP."""

    def __init__(
        self, acts: Acts, *, rates: Rates, faults: Faults, socket: SocketMode | None, bot_token: str, app_token: str
    ) -> None:
        self._journal, self._rates, self._faults = acts.journal, rates, faults
        self._socket, self._handles = socket, acts.handles
        self._bot_token, self._app_token, self._url = bot_token, app_token, acts.url
        self._methods = _methods(acts.workspace, acts.modals, acts.url)
        self.router = APIRouter()
        self.router.add_api_route("/api/{method}", self._serve, methods=["GET", "POST"])
        self.router.add_api_route("/response/{token}", self._response_url, methods=["POST"])

    async def _serve(self, method: str, request: Request) -> Response:
        raw = await _read(request)
        call = Arguments(raw)
        fault = self._faults.take(method)
        if fault and fault.kind != "timeout_after":
            self._note(method, call, status={"429": 429, "500": 500}.get(fault.kind, 0), error=f"fault_{fault.kind}")
            return await _misbehave(fault, request)
        wait = self._rates.wait(method, call.text("channel") or None)
        if wait:
            self._note(method, call, status=429, error="ratelimited")
            return _limited(wait)
        answer = self._answer(method, call, _token(request, raw))
        self._note(method, call, status=200, error=answer.get("error"), ts=answer.get("ts"))
        if fault:
            return await _misbehave(fault, request)
        return JSONResponse(answer)

    def _answer(self, method: str, call: Arguments, token: str) -> Answered:
        try:
            self._authorise(method, token)
            if method == "apps.connections.open":
                return {"ok": True, **self._connection()}
            return {"ok": True, **self._methods.get(method, _unknown)(call)}
        except Refused as refused:
            answer: Answered = {"ok": False, "error": refused.error}
            if refused.messages:
                answer["response_metadata"] = {"messages": list(refused.messages)}
                answer["errors"] = [m.removeprefix("[ERROR] ") for m in refused.messages]
            return answer

    def _authorise(self, method: str, token: str) -> None:
        if not token:
            raise Refused("not_authed")
        if token not in {self._bot_token, self._app_token}:
            raise Refused("invalid_auth")
        if (method == "apps.connections.open") != (token == self._app_token):
            raise Refused("not_allowed_token_type")

    def _connection(self) -> Answered:
        if self._socket is None:
            raise Refused("socket_mode_not_enabled")
        return {"url": f"{self._url.replace('http', 'ws', 1)}/link/?ticket={self._socket.ticket()}"}

    async def _response_url(self, token: str, request: Request) -> Response:
        raw = await _read(request)
        if isinstance(raw.get("payload"), str):
            raw = json.loads(raw["payload"])
        try:
            self._handles.respond(token, raw)
        except Refused as refused:
            self._note("response_url", Arguments(raw), status=404, error=refused.error)
            return JSONResponse({"ok": False, "error": refused.error}, status_code=404)
        self._note("response_url", Arguments(raw), status=200, error=None)
        return Response("ok", media_type="text/plain")

    def _note(self, method: str, call: Arguments, *, status: int, error: Any, ts: Any = None) -> None:
        facts = {"ok": status == HTTPStatus.OK and error is None, "error": error, "ts": ts}
        self._journal.add("api", method=method, args=call.told(), status=status, **facts)


def _methods(workspace: Workspace, modals: Modals, url: str) -> dict[str, Method]:
    chat, views = ChatMethods(workspace, url), ViewMethods(modals)
    rooms, people = ConversationMethods(workspace), PeopleMethods(workspace, url)
    return {
        "api.test": lambda _: {},
        "auth.test": people.auth_test,
        "team.info": people.team_info,
        "bots.info": people.bot_info,
        "chat.postMessage": chat.post,
        "chat.update": chat.update,
        "chat.delete": chat.delete,
        "chat.postEphemeral": chat.post_ephemeral,
        "chat.getPermalink": chat.permalink,
        "views.open": views.open,
        "views.push": views.push,
        "views.update": views.update,
        "views.publish": views.publish,
        "conversations.list": rooms.all,
        "conversations.info": rooms.info,
        "conversations.history": rooms.history,
        "conversations.replies": rooms.replies,
        "conversations.members": rooms.members,
        "conversations.open": rooms.open,
        "conversations.join": rooms.join,
        "users.info": people.user_info,
        "users.list": people.user_list,
        "users.lookupByEmail": people.user_by_email,
        "usergroups.list": people.group_list,
        "usergroups.users.list": people.group_users,
    }


def _unknown(_call: Arguments) -> Answered:
    raise Refused("unknown_method")


async def _read(request: Request) -> dict[str, Any]:
    found: dict[str, Any] = dict(request.query_params)
    body = await request.body()
    if "application/json" in request.headers.get("content-type", ""):
        try:
            parsed = json.loads(body or b"{}")
        except ValueError:
            parsed = {}
        return found | parsed if isinstance(parsed, dict) else found
    return found | dict(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))


def _token(request: Request, raw: dict[str, Any]) -> str:
    header = request.headers.get("authorization", "")
    return header.removeprefix("Bearer ").strip() or str(raw.get("token") or "")


def _limited(seconds: int) -> Response:
    answer = {"ok": False, "error": "ratelimited"}
    return JSONResponse(answer, status_code=429, headers={"Retry-After": str(seconds)})


async def _misbehave(fault: Fault, request: Request) -> Response:
    if fault.kind == "429":
        return _limited(fault.retry_after)
    if fault.kind == "500":
        return JSONResponse({"ok": False, "error": "internal_error"}, status_code=500)
    if fault.kind == "timeout_after":
        for _ in range(int(SILENCE_SECONDS * 10)):
            if await request.is_disconnected():
                break
            await asyncio.sleep(0.1)
    _hang_up(request)
    return Response(status_code=502)


def _hang_up(request: Request) -> None:
    """Cut the connection without an answer, as a broken network does."""
    transport = getattr(getattr(request.receive, "__self__", None), "transport", None)
    if transport is not None:
        transport.abort()
