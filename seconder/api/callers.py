"""Who calls, and for how long: a token per request, and waits that end when the caller hangs up."""

import asyncio
import re
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import TypeVar

from fastapi import Request

from seconder.api.replies import HungUp, Unauthorized
from seconder.desk import tokens
from seconder.desk.desk import Desk
from seconder.desk.tokens import Caller
from seconder.errors import NotFound

T = TypeVar("T")

IDENT = re.compile(r"[A-Za-z0-9_]{1,64}")


@dataclass(frozen=True, slots=True)
class Callers:
    """Called for each request: its token."""

    desk: Desk

    async def __call__(self, request: Request) -> Caller:
        """The token of the request. Raises: Unauthorized."""
        scheme, _, secret = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            raise Unauthorized
        token = await asyncio.to_thread(tokens.authenticate, self.desk, secret.strip())
        if token is None:
            raise Unauthorized
        return token


async def while_listening(request: Request, work: Awaitable[T]) -> T:
    """What `work` gives, unless the caller hangs up first. Raises: HungUp."""
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise HungUp
    finally:
        working.cancel()
        gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def known(what: str, ident: str) -> str:
    """An id that could be one of ours. Raises: NotFound."""
    if IDENT.fullmatch(ident) is None:
        raise NotFound(what, ident)
    return ident
