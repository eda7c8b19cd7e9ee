"""Reviews over HTTP: an agent that waits, or comes back by itself."""

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response

from seconder.action import Json
from seconder.api.bodies import read_json
from seconder.api.callers import Callers, known, while_listening
from seconder.api.described import gives, takes
from seconder.api.replies import reply
from seconder.api.schemas import ConsumedOut, PageOut, ReviewOut
from seconder.desk import cancel, effects, look, reports, said, submit, wire
from seconder.desk.desk import Desk
from seconder.desk.tokens import Caller
from seconder.errors import Fault, InvalidInput
from seconder.review import Status

Wait = Annotated[
    float, Query(ge=0, le=60, allow_inf_nan=False, description="Seconds; answers as soon as it is settled.")
]
Limit = Annotated[int, Query(ge=1, le=200)]
Key = Annotated[str | None, Header(alias="Idempotency-Key", description="At most 255 characters, per token.")]


def review_routes(desk: Desk, callers: Callers) -> APIRouter:
    """`/v1/reviews` and below; everything is the token's agent's own."""
    router = APIRouter(prefix="/v1/reviews", tags=["reviews"])
    _asking(router, desk, callers)
    _reading(router, desk, callers)
    _running(router, desk, callers)
    return router


def _asking(router: APIRouter, desk: Desk, callers: Callers) -> None:
    @router.post(
        "",
        summary="Ask about one action, question or state, without run state",
        openapi_extra=takes(wire.InterruptIn),
        responses=gives(ReviewOut, 409, 413, created=True),
        status_code=HTTPStatus.CREATED,
    )
    async def submit_review(
        request: Request, caller: Annotated[Caller, Depends(callers)], idempotency_key: Key = None
    ) -> Response:
        body = await read_json(request)
        interrupt = wire.read(wire.InterruptIn, body).value()
        once = wire.once(idempotency_key, body)
        review, new = await asyncio.to_thread(submit.submit_review, desk, caller, interrupt, once)
        status = HTTPStatus.CREATED if new else HTTPStatus.OK
        return reply(await _said(desk, review.id), status, {"location": f"/v1/reviews/{review.id}"})

    @router.delete(
        "/{review_id}", summary="Take it back: nobody needs to decide any more", responses=gives(ReviewOut, 404, 409)
    )
    async def cancel_review(review_id: str, caller: Annotated[Caller, Depends(callers)]) -> Response:
        ident = known("review", review_id)
        by = f"agent {caller.agent}"
        await asyncio.to_thread(cancel.cancel, desk, ident, by=by, agent=caller.agent)
        return reply(await _said(desk, ident))


def _reading(router: APIRouter, desk: Desk, callers: Callers) -> None:
    @router.get("", summary="Reviews, newest first", responses=gives(PageOut))
    async def list_reviews(
        caller: Annotated[Caller, Depends(callers)],
        status: Status | None = None,
        limit: Limit = 50,
        cursor: str | None = None,
    ) -> Response:
        def read() -> look.Page:
            return look.listed(desk, agent=caller.agent, status=status, limit=limit, cursor=cursor)

        try:
            page = await asyncio.to_thread(read)
        except ValueError as error:
            raise InvalidInput([Fault("cursor", str(error))]) from None
        shown = [said.review_json(review, run) for review, run in zip(page.reviews, page.runs, strict=True)]
        return reply({"reviews": shown, "cursor": page.cursor})

    @router.get("/{review_id}", summary="The review, now or as soon as it is settled", responses=gives(ReviewOut, 404))
    async def one_review(
        request: Request, review_id: str, caller: Annotated[Caller, Depends(callers)], wait: Wait = 0
    ) -> Response:
        ident = known("review", review_id)
        waiting = look.wait(desk, lambda: look.named(desk, ident, agent=caller.agent), look.settled_named, wait)
        return reply(said.review_json(*await while_listening(request, waiting)))


def _running(router: APIRouter, desk: Desk, callers: Callers) -> None:
    @router.post(
        "/{review_id}/consume",
        summary="What was decided, to be run once",
        responses=gives(ConsumedOut, 404, 409),
    )
    async def consume(review_id: str, caller: Annotated[Caller, Depends(callers)]) -> Response:
        ident = known("review", review_id)
        started = await asyncio.to_thread(effects.consume, desk, ident, agent=caller.agent)
        return reply(said.consumed_json(started))

    @router.post(
        "/{review_id}/outcome",
        summary="How the consumed call ended",
        openapi_extra=takes(reports.OutcomeIn),
        responses=gives(ReviewOut, 404, 409, 413),
    )
    async def outcome(request: Request, review_id: str, caller: Annotated[Caller, Depends(callers)]) -> Response:
        ident = known("review", review_id)
        ended = wire.read(reports.OutcomeIn, await read_json(request))
        await asyncio.to_thread(effects.report, desk, ident, agent=caller.agent, **ended.values())
        return reply(await _said(desk, ident))


async def _said(desk: Desk, review_id: str) -> dict[str, Json]:
    return said.review_json(*await asyncio.to_thread(look.named, desk, review_id))
