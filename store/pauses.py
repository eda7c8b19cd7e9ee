"""The table of pauses: claimed with a lease and a fence, finished only by `id AND fence AND state`.

waiting ─ last review settled ─> ready ─ claim ─> leased ─ finish ─> finished
   ^                               ^                │
   └── uncertain effect: ask ──────┼── lease over ──┘ (the next claim has a higher fence)
                                   └── failed, to be tried again
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    insert,
    literal_column,
    or_,
    select,
    update,
)

from seconder.action import Json
from seconder.errors import LeaseLost, NotFound
from seconder.review import Agent, Pause, PauseOutcome, PauseState, Review
from seconder.store.row import Sealer, from_millis, insert_into, lock_name, to_millis
from seconder.store.tables import pauses, runs

T = "pauses"
FINISHED: ColumnElement[str] = literal_column("'finished'")  # literal, so that the partial index can be used
PAUSE_KEYS = 4  # the kind of name that idempotency keys of pauses are locked under


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseOrigin:
    """Who submitted a pause, and what makes the submission idempotent."""

    token_id: str
    idempotency_key: str | None = None
    body_digest: str | None = None


class Pauses:
    """Runs and their pauses, in one transaction."""

    def __init__(self, connection: Connection, sealer: Sealer) -> None:
        self._db, self._sealer = connection, sealer

    def run(self, *, agent: str, name: str, ident: str, at: datetime) -> str:
        """The id of the agent's run of this name; `ident` becomes it where the run is new."""
        new = insert_into(self._db, runs).values(id=ident, agent=agent, name=name, created_at=to_millis(at))
        self._db.execute(new.on_conflict_do_nothing(index_elements=[runs.c.agent, runs.c.name]))
        known: str = self._db.execute(select(runs.c.id).where(runs.c.agent == agent, runs.c.name == name)).scalar_one()
        return known

    def run_name(self, run_id: str) -> str:
        name: str = self._db.execute(select(runs.c.name).where(runs.c.id == run_id)).scalar_one()
        return name

    def add(self, pause: Pause, origin: PauseOrigin) -> None:
        """The pause is stored; its reviews are added by themselves."""
        state = pause.run_state
        self._db.execute(
            insert(pauses).values(
                id=pause.id,
                run_id=pause.run_id,
                agent=pause.agent.name,
                agent_version=pause.agent.version,
                framework=pause.framework,
                framework_version=pause.framework_version,
                token_id=origin.token_id,
                idempotency_key=origin.idempotency_key,
                body_digest=origin.body_digest,
                state=pause.state,
                run_state=None
                if state is None
                else self._sealer.seal(state, table=T, column="run_state", row=pause.id),
                created_at=to_millis(pause.created_at),
                due_at=to_millis(pause.created_at),
                fence=0,
                attempts=0,
            )
        )

    def get(self, pause_id: str, reviews: tuple[Review, ...], *, with_state: bool = False) -> Pause:
        """The pause with these reviews, and its run state if wanted. Raises: NotFound."""
        return self._read(self._row(pause_id, lock=False), reviews, with_state=with_state)

    def lock(self, pause_id: str) -> None:
        """Nobody else changes this pause before the transaction ends; locked before its reviews. Raises: NotFound."""
        self._row(pause_id, lock=True)

    def agent_of(self, pause_id: str) -> str:
        """Raises: NotFound."""
        agent: str = self._row(pause_id, lock=False)["agent"]
        return agent

    def by_idempotency_key(self, token_id: str, key: str) -> tuple[str, str] | None:
        """The id of the pause submitted with this key, and the digest of that body.

        Nobody else submits with this key before the transaction ends.
        """
        lock_name(self._db, f"{token_id} {key}", PAUSE_KEYS)
        query = select(pauses.c.id, pauses.c.body_digest).where(
            pauses.c.token_id == token_id, pauses.c.idempotency_key == key
        )
        row = self._db.execute(query).first()
        return None if row is None else (row[0], row[1])

    def set_ready(self, pause_id: str, at: datetime) -> bool:
        """Waiting -> ready; whether it was waiting."""
        query = update(pauses).where(pauses.c.id == pause_id, pauses.c.state == PauseState.WAITING)
        return self._db.execute(query.values(state=PauseState.READY, due_at=to_millis(at))).rowcount == 1

    def claimable(self, agents: Sequence[str], now: datetime, pause_id: str | None = None) -> str | None:
        """The pause that could be claimed first: ready and due, or leased beyond its lease."""
        ident: str | None = self._db.execute(self._claimable(agents, now, pause_id)).scalar()
        return ident

    def claim(
        self, agents: Sequence[str], *, worker: str, now: datetime, lease: timedelta, pause_id: str | None = None
    ) -> tuple[str, int] | None:
        """Id and fence of a pause that is leased to this worker from now on."""
        query = self._claimable(agents, now, pause_id).with_for_update(skip_locked=True)
        ident = self._db.execute(query).scalar()
        if ident is None:
            return None
        self._db.execute(
            update(pauses)
            .where(pauses.c.id == ident)
            .values(
                state=PauseState.LEASED,
                fence=pauses.c.fence + 1,
                attempts=pauses.c.attempts + 1,
                worker=worker,
                lease_until=to_millis(now + lease),
            )
        )
        return ident, self._db.execute(select(pauses.c.fence).where(pauses.c.id == ident)).scalar_one()

    def check_lease(self, pause_id: str, fence: int) -> None:
        """Locks the pause; it is still leased with this fence. Raises: LeaseLost, NotFound."""
        row = self._row(pause_id, lock=True)
        if row["state"] != PauseState.LEASED or row["fence"] != fence:
            message = f"pause {pause_id} is {row['state']} at fence {row['fence']}, not leased at {fence}"
            raise LeaseLost(message)

    def renew(self, pause_id: str, *, fence: int, until: datetime) -> None:
        """Raises: LeaseLost."""
        self._fenced(pause_id, fence, lease_until=to_millis(until))

    def release(self, pause_id: str, *, fence: int, state: PauseState, due_at: datetime) -> None:
        """Leased -> waiting or ready again. Raises: LeaseLost."""
        self._fenced(pause_id, fence, state=state, due_at=to_millis(due_at), lease_until=None)

    def finish(
        self, pause_id: str, *, fence: int, outcome: PauseOutcome, result: Json, next_pause_id: str | None = None
    ) -> None:
        """Leased -> finished; `result` is {final_output, error}. Raises: LeaseLost.

        The run state is forgotten, for the run is beyond it; only that of a run that failed is kept.
        """
        sealed = self._sealer.seal_json(result, table=T, column="result", row=pause_id)
        spent: dict[str, object] = {} if outcome is PauseOutcome.FAILED else {"run_state": None}
        self._fenced(
            pause_id,
            fence,
            state=PauseState.FINISHED,
            outcome=outcome,
            result=sealed,
            next_pause_id=next_pause_id,
            lease_until=None,
            **spent,
        )

    def _fenced(self, pause_id: str, fence: int, **values: object) -> None:
        query = update(pauses).where(
            pauses.c.id == pause_id, pauses.c.fence == fence, pauses.c.state == PauseState.LEASED
        )
        if self._db.execute(query.values(**values)).rowcount != 1:
            message = f"pause {pause_id} is no longer leased at fence {fence}"
            raise LeaseLost(message)

    def _claimable(self, agents: Sequence[str], now: datetime, pause_id: str | None) -> Select[Any]:
        at = to_millis(now)
        free = or_(
            and_(pauses.c.state == PauseState.READY, pauses.c.due_at <= at),
            and_(pauses.c.state == PauseState.LEASED, pauses.c.lease_until <= at),
        )
        query = select(pauses.c.id).where(pauses.c.state != FINISHED, free, pauses.c.agent.in_(agents))
        if pause_id is not None:
            query = query.where(pauses.c.id == pause_id)
        return query.order_by(pauses.c.due_at, pauses.c.id).limit(1)

    def _row(self, pause_id: str, *, lock: bool) -> RowMapping:
        query = select(pauses).where(pauses.c.id == pause_id)
        row = self._db.execute(query.with_for_update() if lock else query).mappings().first()
        if row is None:
            raise NotFound("pause", pause_id)
        return row

    def _read(self, row: RowMapping, reviews: tuple[Review, ...], *, with_state: bool) -> Pause:
        ident = row["id"]
        result = self._sealer.open_json(row["result"], table=T, column="result", row=ident) or {}
        state = row["run_state"] if with_state else None
        return Pause(
            id=ident,
            run_id=row["run_id"],
            agent=Agent(name=row["agent"], version=row["agent_version"]),
            framework=row["framework"],
            framework_version=row["framework_version"],
            state=PauseState(row["state"]),
            created_at=from_millis(row["created_at"]),
            reviews=reviews,
            run_state=None if state is None else self._sealer.open(state, table=T, column="run_state", row=ident),
            fence=row["fence"],
            attempts=row["attempts"],
            outcome=None if row["outcome"] is None else PauseOutcome(row["outcome"]),
            final_output=result.get("final_output"),
            error=result.get("error"),
            next_pause_id=row["next_pause_id"],
        )
