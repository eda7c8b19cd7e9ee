"""Pauses over HTTP: stopped runs with their state, and the worker's side of resuming them."""

import asyncio
from http import HTTPStatus
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from starlette.responses import Response

from seconder.action import Json
from seconder.api.bodies import WITH_STATE, read_json
from seconder.api.callers import Callers, known, while_listening
from seconder.api.described import gives, takes
from seconder.api.replies import reply
from seconder.api.schemas import ClaimOut, EffectOut, LeaseOut, NothingOut, PauseOut
from seconder.desk import claim, effects, look, reports, said, submit, wire
from seconder.desk.desk import Desk
from seconder.desk.tokens import Caller
from seconder.review import Pause

Wait = Annotated[
    float, Query(ge=0, le=60, allow_inf_nan=False, description="Seconds; answers as soon as it is ready or finished.")
]
Key = Annotated[str | None, Header(alias="Idempotency-Key", description="At most 255 characters, per token.")]


def pause_routes(desk: Desk, callers: Callers) -> APIRouter:
    """`/v1/pauses` and below; everything is the token's agent's own."""
    router = APIRouter(prefix="/v1/pauses", tags=["pauses"])
    _pausing(router, desk, callers)
    _resuming(router, desk, callers)
    return router


def effect_routes(desk: Desk, callers: Callers) -> APIRouter:
    """`/v1/effects`: the ledger of gated calls, under a lease."""
    router = APIRouter(prefix="/v1/effects", tags=["effects"])

    @router.post(
        "/start",
        summary="A gated call is about to run, or ran before",
        openapi_extra=takes(reports.EffectStartIn),
        responses=gives(EffectOut, 404, 409, 413),
    )
    async def start(request: Request, caller: Annotated[Caller, Depends(callers)]) -> Response:
        body = wire.read(reports.EffectStartIn, await read_json(request))
        started = await asyncio.to_thread(effects.start_effect, desk, agent=caller.agent, **body.model_dump())
        return reply(said.effect_json(started))

    @router.post(
        "/end",
        summary="How the gated call ended",
        openapi_extra=takes(reports.EffectEndIn),
        responses=gives(NothingOut, 404, 409, 413),
    )
    async def end(request: Request, caller: Annotated[Caller, Depends(callers)]) -> Response:
        body = wire.read(reports.EffectEndIn, await read_json(request))
        await asyncio.to_thread(effects.end_effect, desk, agent=caller.agent, **body.model_dump())
        return reply({})

    return router


def _pausing(router: APIRouter, desk: Desk, callers: Callers) -> None:
    @router.post(
        "",
        summary="Store a stopped run with its state and what it asks, in one commit",
        openapi_extra=takes(wire.PauseIn),
        responses=gives(PauseOut, 409, 413, created=True),
        status_code=HTTPStatus.CREATED,
    )
    async def submit_pause(
        request: Request, caller: Annotated[Caller, Depends(callers)], idempotency_key: Key = None
    ) -> Response:
        body = await read_json(request, limit=WITH_STATE)
        asked = wire.read(wire.PauseIn, body).value()
        once = wire.once(idempotency_key, body)
        ident, new = await asyncio.to_thread(submit.submit_pause, desk, caller, asked, once)
        status = HTTPStatus.CREATED if new else HTTPStatus.OK
        return reply(await _said(desk, ident), status, {"location": f"/v1/pauses/{ident}"})

    @router.get(
        "/{pause_id}", summary="The pause, now or as soon as it is ready or finished", responses=gives(PauseOut, 404)
    )
    async def one_pause(
        request: Request, pause_id: str, caller: Annotated[Caller, Depends(callers)], wait: Wait = 0
    ) -> Response:
        ident = known("pause", pause_id)
        waiting = look.wait(desk, lambda: look.pause(desk, ident, agent=caller.agent), look.claimable_or_finished, wait)
        return reply(said.pause_json(*await while_listening(request, waiting)))


def _resuming(router: APIRouter, desk: Desk, callers: Callers) -> None:
    @router.post(
        "/claim",
        summary="Lease the oldest ready pause, now or within `wait` seconds",
        openapi_extra=takes(reports.ClaimIn),
        responses=gives(ClaimOut, 404, 413),
    )
    async def claim_pause(request: Request, caller: Annotated[Caller, Depends(callers)]) -> Response:
        body = wire.read(reports.ClaimIn, await read_json(request))

        def look_for() -> tuple[Pause, str] | None:
            found = claim.claim(desk, caller, body.agents, worker=body.worker, pause_id=body.pause_id)
            return None if found is None else (found, look.run_name(desk, found.run_id) or "")

        waiting = look.wait(desk, look_for, lambda found: found is not None, body.wait)
        found = await while_listening(request, waiting)
        lease = desk.lease.total_seconds()
        return reply({"claim": None if found is None else said.claim_json(*found, lease)})

    @router.post(
        "/{pause_id}/heartbeat",
        summary="The lease lasts a whole lease from now",
        openapi_extra=takes(reports.HeartbeatIn),
        responses=gives(LeaseOut, 404, 409, 413),
    )
    async def heartbeat(request: Request, pause_id: str, caller: Annotated[Caller, Depends(callers)]) -> Response:
        ident = known("pause", pause_id)
        body = wire.read(reports.HeartbeatIn, await read_json(request))
        await asyncio.to_thread(claim.heartbeat, desk, ident, agent=caller.agent, fence=body.fence)
        return reply({"lease_seconds": desk.lease.total_seconds()})

    @router.post(
        "/{pause_id}/finish",
        summary="How the resumed run ended, with its next pause",
        openapi_extra=takes(reports.FinishIn),
        responses=gives(PauseOut, 404, 409, 413),
    )
    async def finish(request: Request, pause_id: str, caller: Annotated[Caller, Depends(callers)]) -> Response:
        ident = known("pause", pause_id)
        body = wire.read(reports.FinishIn, await read_json(request, limit=WITH_STATE))
        await asyncio.to_thread(claim.finish, desk, caller, ident, fence=body.fence, finish=body.value())
        return reply(await _said(desk, ident))


async def _said(desk: Desk, pause_id: str) -> dict[str, Json]:
    return said.pause_json(*await asyncio.to_thread(look.pause, desk, pause_id))
