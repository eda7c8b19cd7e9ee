"""The HTTP door on a desk of a test, served by uvicorn on a port of its own."""

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn
from fastapi import FastAPI

from seconder.api.app import build_api
from seconder.desk import tokens
from seconder.desk.desk import Desk


def ready() -> dict[str, str | None]:
    return {"slack": None, "worker": None}


def secret_of(desk: Desk, agent: str = "shop") -> str:
    """A new token of this agent."""
    return tokens.create(desk, agent, random=os.urandom).secret


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@contextmanager
def a_door(desk: Desk, agent: str = "shop", **parts: Any) -> Iterator[httpx.Client]:
    """A client with a token of this agent, speaking HTTP to a server of its own."""
    app = build_api(desk, **{"ready": ready, "slack": None, **parts})
    with served(app) as base, httpx.Client(base_url=base, headers=bearer(secret_of(desk, agent)), timeout=60) as door:
        yield door


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """The address at which uvicorn serves the application."""
    config = uvicorn.Config(app, port=0, log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(10)


def call_of(amount: float = 240, **more: Any) -> dict[str, Any]:
    """An interrupt for a refund, as an agent sends it."""
    return {
        "kind": "tool_call",
        "agent": {"name": "shop"},
        "action": {"tool": "issue_refund", "arguments": {"amount": amount, "order": "O-991"}},
        "requester": {"slack_user": "U01RILEY"},
        **more,
    }


def action_of(tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    """An interrupt for a call of this tool."""
    return call_of() | {"action": {"tool": tool, "arguments": arguments or {}}}


def pause_of(*interrupts: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A stopped run, as an agent sends it."""
    return {
        "run": "run-1",
        "framework": "test",
        "framework_version": "1",
        "agent": "shop",
        "state": {"here": 1},
        "interrupts": list(interrupts) or [call_of(call_id="call_1")],
        **more,
    }


def error_of(response: httpx.Response) -> tuple[int, str]:
    """Status and code of a failure, whose shape is checked."""
    error = response.json()["error"]
    assert sorted(error) == ["code", "fields", "message", "request_id"]
    assert error["request_id"] == response.headers["x-request-id"]
    return response.status_code, error["code"]


def exact(response: httpx.Response) -> Any:
    """The body with its integers as they are."""
    return json.loads(response.content)
