"""The only place where parts meet: settings become a store, a desk, a bot, a door, a clock, a worker.

up ─┬─ HTTP door (this thread's event loop, uvicorn)
    ├─ Bolt: Socket Mode connection, or the door's /slack/events
    ├─ dispatcher (thread): the queue's cards go to Slack
    ├─ clockwork (APScheduler): ladders, deadlines, fresh facts about people
    └─ worker (thread with its own event loop), where agents are named
"""

import asyncio
import base64
import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

import structlog
import uvicorn

from seconder import faults
from seconder.bot.bolt import THREADS, build_app
from seconder.bot.dispatcher import Dispatcher
from seconder.bot.http import SlackEvents
from seconder.bot.people import Refresher
from seconder.bot.reconciler import Reconciler
from seconder.bot.slack import make_client
from seconder.bot.socket import Socket
from seconder.clockwork import Clockwork
from seconder.desk.client import LocalClient
from seconder.desk.desk import Desk
from seconder.errors import ConfigurationError
from seconder.gate import Client, connect
from seconder.keyring import Keyring, parse_keys
from seconder.policies import Policy, load
from seconder.settings import Settings
from seconder.store import schema
from seconder.store.database import Store
from seconder.worker import Worker, load_agents

Factory: TypeAlias = Callable[[], Any]  # makes an agent

ID_BYTES = 16  # 128 random bits
REFRESH_EVERY = timedelta(seconds=30)
RECONCILE_EVERY = timedelta(minutes=1)
STOP_SECONDS = 10

log = structlog.get_logger()


def open_store(settings: Settings) -> Store:
    """The store of these settings. Raises: ConfigurationError where it is not migrated, or keys are missing."""
    if schema.pending(settings.database_url):
        message = "the database is not up to date: run `seconder db upgrade`"
        raise ConfigurationError(message)
    if not settings.keys:
        message = "SECONDER_KEYS is not set: run `seconder keys new` and put its key there"
        raise ConfigurationError(message)
    keyring = Keyring(parse_keys(settings.keys), random=os.urandom)
    return Store(settings.database_url, keyring, random=os.urandom)


def migrate(database_url: str) -> list[str]:
    """The database is up to date; which steps were made."""
    return schema.upgrade(database_url)


def make_desk(settings: Settings, store: Store) -> Desk:
    """The desk on this store; the policy is read when a use case first needs it."""
    held: list[Policy] = []

    def policy() -> Policy:
        if not held:
            held.append(load_policy(settings))
        return held[0]

    return Desk(store=store, policy=policy, new_id=new_id)


def load_policy(settings: Settings) -> Policy:
    """Raises: ConfigurationError, PolicyInvalid."""
    if settings.policy is None:
        message = "SECONDER_POLICY is not set: name a policy file or folder (policies/examples/ has some to start from)"
        raise ConfigurationError(message)
    return load(Path(settings.policy))


def new_id(prefix: str) -> str:
    """`prefix_` and 128 random bits in base 32, lower case."""
    digits = base64.b32encode(secrets.token_bytes(ID_BYTES)).decode().rstrip("=").lower()
    return f"{prefix}_{digits}"


def worker_name() -> str:
    """Names this process in leases and logs."""
    return f"{socket.gethostname()}:{os.getpid()}"


@dataclass(frozen=True, slots=True)
class Running:
    """What `running` started: the desk, and the application that the door serves."""

    desk: Desk
    web: object


@contextmanager
def running(settings: Settings, agents: str | None, *, offset_allowed: bool = False) -> Iterator[Running]:
    """Everything of `up` but the door's own server runs until the block ends.

    Raises: ConfigurationError, PolicyInvalid.
    """
    faults.check()
    if not settings.slack_bot_token:
        message = "SLACK_BOT_TOKEN is not set: create the app from manifest.yml, install it, and set its bot token"
        raise ConfigurationError(message)
    factories = load_agents(agents) if agents else {}
    with ExitStack() as stack:
        store = open_store(settings)
        stack.callback(store.close)
        _check_offset(store, allowed=offset_allowed)
        desk = make_desk(settings, store)
        desk.policy()
        store.watch()
        yield _start(settings, desk, factories, stack)


def _start(settings: Settings, desk: Desk, factories: Mapping[str, Factory], stack: ExitStack) -> Running:
    from seconder.api.app import build_api
    from seconder.api.webhooks import Webhooks

    client = make_client(settings.slack_bot_token or "", settings.slack_api_url)
    refresher = Refresher(desk, client)
    refresher.refresh_workspace()
    stack.callback(refresher.close)
    executor = stack.enter_context(ThreadPoolExecutor(THREADS, thread_name_prefix="bolt"))
    bolt = build_app(desk, client, refresher, signing_secret=settings.slack_signing_secret, executor=executor)
    slack, link = None, None
    if settings.slack_app_token:
        link = Socket(bolt, settings.slack_app_token)
        link.start()
        stack.callback(link.stop)
    elif settings.slack_signing_secret:
        slack = SlackEvents(bolt, signing_secret=settings.slack_signing_secret)
    else:
        message = "set SLACK_APP_TOKEN for Socket Mode, or SLACK_SIGNING_SECRET for HTTP at /slack/events"
        raise ConfigurationError(message)
    dispatcher = Dispatcher(desk, client, refresher, worker_name=worker_name())
    dispatcher.start()
    stack.callback(dispatcher.stop)
    hooks = Webhooks(desk, worker_name=worker_name())
    hooks.start()
    stack.callback(hooks.stop)
    jobs = {
        "people": (REFRESH_EVERY, refresher.refresh_known),
        "cards": (RECONCILE_EVERY, Reconciler(desk).check_some),
    }
    clock = Clockwork(desk, jobs=jobs)
    clock.start()
    stack.callback(clock.stop)
    if factories:
        stack.enter_context(_worker_thread(LocalClient(desk), factories))
    else:
        log.warning("up.no_agents", note="no agents named: decided runs wait for `seconder worker`")

    def ready() -> dict[str, str | None]:
        return {"slack": None if link is None or link.connected else "the Socket Mode connection is down"}

    return Running(desk=desk, web=build_api(desk, ready=ready, slack=slack))


def up(settings: Settings, agents: str | None) -> None:
    """Bot, HTTP door and clock, and a worker where agents are named, until SIGINT or SIGTERM."""
    with running(settings, agents) as parts:
        serve(parts.web, settings.host, settings.port)


def serve(web: object, host: str, port: int) -> None:
    """The application is served until SIGINT or SIGTERM. Raises: ConfigurationError where the port is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            message = f"cannot listen on {host}:{port} ({error.strerror}): set SECONDER_PORT to another port"
            raise ConfigurationError(message) from error
    config = uvicorn.Config(
        web,  # type: ignore[arg-type]
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    uvicorn.Server(config).run()


def work(settings: Settings, agents: str) -> None:
    """A worker against the HTTP door, with nothing but a token, until SIGINT or SIGTERM."""
    faults.check()
    factories = load_agents(agents)
    client = connect(settings.base_url, settings.token)
    asyncio.run(_work(client, factories))


async def _work(client: Client, factories: Mapping[str, Factory]) -> None:
    import signal

    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await Worker(client, factories, name=worker_name()).run(stop)
    await client.aclose()


@contextmanager
def _worker_thread(client: Client, factories: Mapping[str, Factory]) -> Iterator[None]:
    """A worker in a thread with its own event loop, so that agents never hold up the door."""
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(Worker(client, factories, name=worker_name()).run(stop))

    thread = threading.Thread(target=run, name="worker", daemon=True)
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(STOP_SECONDS)


def _check_offset(store: Store, *, allowed: bool) -> None:
    if not allowed and store.read(lambda tx: tx.offset()):
        message = "the database's clock was pushed forward (a sandbox's or test's database): `up` does not run on it"
        raise ConfigurationError(message)
