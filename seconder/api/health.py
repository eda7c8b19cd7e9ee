"""What operators ask: alive, ready, and the numbers."""

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus

import structlog
from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from seconder.api.metrics import Metrics
from seconder.api.replies import reply
from seconder.api.schemas import HealthOut, ReadyOut
from seconder.desk import people
from seconder.desk.desk import Desk

PATIENCE = 5.0  # seconds until the database counts as unreachable

log = structlog.get_logger("seconder.api")


def health_routes(desk: Desk, ready: Callable[[], Mapping[str, str | None]], metrics: Metrics) -> APIRouter:
    """`ready` names each part with None, or with a sentence why it is not ready."""
    router = APIRouter(tags=["operators"])

    @router.get("/healthz", responses={200: {"model": HealthOut}}, summary="The process is alive")
    async def healthz() -> Response:
        return reply({"status": "ok"})

    @router.get(
        "/readyz",
        responses={200: {"model": ReadyOut}, 503: {"model": ReadyOut, "description": "A part is not ready."}},
        summary="Database, Slack and the other parts can do their work",
    )
    async def readyz() -> Response:
        parts = {"database": await _database(desk), **ready()}
        down = {name: why for name, why in parts.items() if why is not None}
        status = HTTPStatus.SERVICE_UNAVAILABLE if down else HTTPStatus.OK
        return reply({"status": "unready" if down else "ready", "parts": sorted(parts), "reasons": down}, status)

    @router.get("/metrics", summary="Numbers for Prometheus", responses={200: {"content": {"text/plain": {}}}})
    async def scrape() -> Response:
        return Response(await asyncio.to_thread(metrics.text), media_type=CONTENT_TYPE_LATEST)

    return router


async def _database(desk: Desk) -> str | None:
    try:
        await asyncio.wait_for(asyncio.to_thread(people.now, desk), PATIENCE)
    except TimeoutError:
        return f"the database did not answer within {PATIENCE:g} seconds"
    except Exception as error:  # noqa: BLE001 - whatever it is, the answer is that the database cannot be used
        log.warning("api.database_unreachable", error=str(error))
        return "the database cannot be reached; the log says why"
    return None
