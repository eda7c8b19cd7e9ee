"""A claimed pause is resumed while its lease is kept alive, and its outcome is recorded once.

claim ─> resume ─┬─ finished, paused_again, failed ─> finish, with the fence of the claim
   heartbeat ────┴─ lease lost: the resume is cancelled, nothing is recorded
"""

import asyncio
import traceback
from dataclasses import dataclass
from typing import Any

from seconder.errors import ConfigurationError, EffectUncertain, LeaseLost, ResumeRefused, SeconderError, Unreachable
from seconder.faults import crash_point
from seconder.frameworks import Adapter, Factory, Failed, Finished, PausedAgain, Resumed, adapter
from seconder.frameworks.words import error_text
from seconder.gate import HEARTBEAT, LEASE, Claim, Client
from seconder.telemetry import logger

log = logger("seconder.frameworks")


@dataclass(frozen=True, slots=True)
class Ended:
    """How the resumed run went on, and the pause as the desk has it now."""

    resumed: Resumed
    pause: dict[str, Any]


async def resume(client: Client, claim: Claim, factory: Factory) -> Ended:
    """The claimed run went on as far as it could, and the desk knows.

    Raises: LeaseLost where another worker may have it now; Unreachable where the desk could not be told.
    """
    resuming = asyncio.create_task(_resume(client, claim, factory))
    beating = asyncio.create_task(_beat(client, claim))
    try:
        await asyncio.wait({resuming, beating}, return_when=asyncio.FIRST_COMPLETED)
        if not resuming.done():
            beating.result()
        resumed = await resuming
        crash_point("worker.before_finish")
        pause = await _finish(client, claim, resumed)
        crash_point("worker.after_finish")
        return Ended(resumed, pause)
    finally:
        await _end(resuming, beating)


async def _resume(client: Client, claim: Claim, factory: Factory) -> Resumed:
    """Raises: LeaseLost. Whatever else goes wrong is how the run ended."""
    known = log.bind(pause=claim.pause["id"], run=claim.pause["run"], agent=claim.pause["agent"]["name"])
    using: Adapter | None = None
    try:
        using = adapter(claim.pause["framework"])
        return await using.resume(claim, factory, client)
    except LeaseLost:
        raise
    except ResumeRefused as error:
        known.warning("resume.refused", why=str(error))
        return Failed(str(error), retry=False)
    except (Unreachable, EffectUncertain, ConfigurationError) as error:
        known.warning("resume.interrupted", why=str(error))
        return Failed(str(error), retry=True)
    except SeconderError as error:
        known.error("resume.failed", why=str(error), traceback=trace(error))
        return Failed(str(error), retry=False)
    except Exception as error:  # noqa: BLE001 - an agent may raise anything; it is logged and becomes the outcome
        known.error("resume.failed", why=error_text(error), traceback=trace(error))
        return Failed(error_text(error), retry=using is None or using.may_pass(error))


def trace(error: BaseException) -> str:
    """The traceback as text, without the values of variables: they may be secret."""
    return "".join(traceback.format_exception(error))


async def _beat(client: Client, claim: Claim) -> None:
    """Renews the lease until cancelled. Raises: LeaseLost."""
    loop = asyncio.get_running_loop()
    renewed = loop.time()
    while True:
        await asyncio.sleep(HEARTBEAT)
        asked = loop.time()
        try:
            await client.heartbeat(claim.pause["id"], fence=claim.fence)
            renewed = asked
        except Unreachable as error:
            if loop.time() - renewed >= LEASE:
                raise LeaseLost(f"the lease of pause {claim.pause['id']} could not be renewed in time") from error


async def _finish(client: Client, claim: Claim, resumed: Resumed) -> dict[str, Any]:
    pause_id, fence = claim.pause["id"], claim.fence
    match resumed:
        case Finished():
            return await client.finish(pause_id, fence=fence, outcome="finished", final_output=resumed.json_output)
        case PausedAgain():
            return await client.finish(pause_id, fence=fence, outcome="paused_again", next_pause=resumed.pause)
        case Failed():
            return await client.finish(
                pause_id, fence=fence, outcome="failed", error=resumed.error, retry=resumed.retry
            )


async def _end(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
