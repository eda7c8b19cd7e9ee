"""Answers as exact JSON, and every failure in one shape: {"error": {code, message, fields, request_id}}."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from seconder.action import Json
from seconder.desk import look
from seconder.desk.wire import path_of, sentence_of
from seconder.errors import (
    CannotConsume,
    EffectUncertain,
    Fault,
    IdempotencyConflict,
    IllegalTransition,
    InvalidInput,
    LeaseLost,
    NotFound,
    OutcomeConflict,
    SeconderError,
    TooLarge,
)

CODES = {
    HTTPStatus.UNAUTHORIZED: "unauthorized",
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
}
CONFLICTS: Mapping[type[SeconderError], str] = {
    LeaseLost: "lease_lost",
    EffectUncertain: "uncertain",
    OutcomeConflict: "outcome_conflict",
    IdempotencyConflict: "idempotency_conflict",
}
FAULTY = "The request has faults; nothing was stored."
CLOSED = 499  # nobody reads it: the caller hung up

log = structlog.get_logger("seconder.api")


class Unauthorized(Exception):
    """No valid token came with the request."""


class HungUp(Exception):
    """The caller is gone; nobody is left to answer."""


def encode(value: Json) -> bytes:
    """JSON bytes with integers exact; half characters, which a run state may hold, stay escapes."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def reply(value: Json, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None) -> Response:
    """The value as an answer that nobody may cache."""
    shown = {"cache-control": "no-store", **(headers or {})}
    return Response(encode(value), status, shown, media_type="application/json")


def failure(
    request: Request,
    status: int,
    code: str,
    message: str,
    *,
    fields: Sequence[Fault] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer to what went wrong."""
    said = {
        "code": code,
        "message": message,
        "fields": [{"path": fault.path, "message": fault.message} for fault in fields],
        "request_id": request.scope.get("request_id"),
    }
    return reply({"error": said}, status, headers)


def handle_errors(app: FastAPI) -> None:
    """From now on the application answers every expected error by itself."""
    app.add_exception_handler(SeconderError, _refused)
    app.add_exception_handler(Unauthorized, _unauthorized)
    app.add_exception_handler(RequestValidationError, _wrong_parameters)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ClientDisconnect, _hung_up)
    app.add_exception_handler(HungUp, _hung_up)


async def _refused(request: Request, error: Exception) -> Response:
    match error:
        case InvalidInput(code=code, faults=faults):
            return failure(request, HTTPStatus.UNPROCESSABLE_ENTITY, code, FAULTY, fields=faults)
        case NotFound():
            return failure(request, HTTPStatus.NOT_FOUND, "not_found", str(error))
        case TooLarge():
            return failure(request, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", str(error))
        case _:
            conflict = _conflict(request, error)
    if conflict is None:
        return internal(request, error)
    return failure(request, HTTPStatus.CONFLICT, conflict, str(error))


def _conflict(request: Request, error: Exception) -> str | None:
    match error:
        case CannotConsume(code=code):
            return code
        case IllegalTransition(status=status):
            return "already_decided" if request.method == "DELETE" else status
        case _:
            return next((code for kind, code in CONFLICTS.items() if isinstance(error, kind)), None)


def internal(request: Request, error: Exception) -> Response:
    """Logged with the request's id; the caller learns nothing but the id, and whether to try again."""
    log.error("api.failed", path=request.url.path, request_id=request.scope.get("request_id"), exc_info=error)
    if look.unreached(error):
        message = "The database cannot be reached; try again."
        return failure(request, HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", message)
    message = "Something went wrong here; the log has more under this request_id."
    return failure(request, HTTPStatus.INTERNAL_SERVER_ERROR, "internal", message)


async def _unauthorized(request: Request, _error: Exception) -> Response:
    message = "Send `Authorization: Bearer` and a token from `seconder tokens create --agent NAME`."
    headers = {"www-authenticate": 'Bearer realm="seconder"'}
    return failure(request, HTTPStatus.UNAUTHORIZED, "unauthorized", message, headers=headers)


async def _wrong_parameters(request: Request, error: Exception) -> Response:
    found: Sequence[Any] = error.errors() if isinstance(error, RequestValidationError) else ()
    faults = [Fault(path_of(fault["loc"][1:]), sentence_of(fault["msg"])) for fault in found]
    return failure(request, HTTPStatus.UNPROCESSABLE_ENTITY, "invalid", FAULTY, fields=faults)


async def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.INTERNAL_SERVER_ERROR
    headers = error.headers if isinstance(error, HTTPException) else None
    code = CODES.get(HTTPStatus(status), "invalid")
    return failure(request, status, code, HTTPStatus(status).description or "Refused.", headers=headers)


async def _hung_up(request: Request, _error: Exception) -> Response:
    return failure(request, CLOSED, "closed", "The caller hung up.")
