"""The HTTP door: every call of the contract, on one desk.

Handlers are coroutines; what blocks runs in a pool of THREADS threads, and a long poll holds none.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version

from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from seconder.api.callers import Callers
from seconder.api.described import describe
from seconder.api.frame import Frame
from seconder.api.health import health_routes
from seconder.api.metrics import Metrics
from seconder.api.pauses import effect_routes, pause_routes
from seconder.api.replies import handle_errors
from seconder.api.reviews import review_routes
from seconder.desk.desk import Desk

THREADS = 64


def build_api(desk: Desk, *, ready: Callable[[], Mapping[str, str | None]], slack: ASGIApp | None) -> FastAPI:
    """The application; `ready` names each part of the process with None, or a sentence why it is not ready.

    `slack` takes what Slack posts to `/slack/events`; without it there is no such path.
    """
    app = FastAPI(
        title="Seconder",
        version=version("seconder"),
        description="Agents propose, people decide, runs resume once.",
        docs_url=None,  # those pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_threads,
    )
    callers, metrics = Callers(desk), Metrics(desk)
    app.include_router(review_routes(desk, callers))
    app.include_router(pause_routes(desk, callers))
    app.include_router(effect_routes(desk, callers))
    app.include_router(health_routes(desk, ready, metrics))
    if slack is not None:
        app.router.routes.append(Route("/slack/events", _Handed(slack), methods=["POST"]))
    handle_errors(app)
    app.openapi = partial(describe, app)  # type: ignore[method-assign]
    app.add_middleware(Frame, metrics=metrics, new_id=partial(desk.new_id, "rq"))
    return app


class _Handed:
    """An ASGI application as a route takes it, which tells applications from functions by their class."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


@asynccontextmanager
async def _threads(_app: FastAPI) -> AsyncIterator[None]:
    """The event loop's pool is as large as the store can use."""
    with ThreadPoolExecutor(THREADS, thread_name_prefix="api") as pool:
        asyncio.get_running_loop().set_default_executor(pool)
        yield
