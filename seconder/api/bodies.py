"""Bodies are read raw up to a limit and parsed exactly, whatever their declared length says."""

import asyncio

from fastapi import Request

from seconder.action import Json, parse_json
from seconder.errors import Fault, NotCanonical, TooLarge
from seconder.review import MAX_RUN_STATE

SMALL = 1024 * 1024  # bytes
WITH_STATE = 3 * MAX_RUN_STATE + SMALL  # a state in \uXXXX escapes is up to three times its own size
INLINE = 64 * 1024  # bytes that are parsed without leaving the event loop


async def read_json(request: Request, *, limit: int = SMALL) -> Json:
    """The body as JSON. Raises: TooLarge, NotCanonical."""
    data = await _read(request, limit)
    if len(data) <= INLINE:
        return _parse(data)
    return await asyncio.to_thread(_parse, data)


async def _read(request: Request, limit: int) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared[:20]) > limit:
        raise TooLarge("body", limit)
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > limit:
            raise TooLarge("body", limit)
    return bytes(data)


def _parse(data: bytes) -> Json:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise NotCanonical([Fault("body", f"not UTF-8: {error}")]) from None
    return parse_json(text)
