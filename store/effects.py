"""The ledger of gated calls: one row per review, written before and after the call.

started ─┬─> succeeded | failed
         └─ found without an end ─> uncertain ─ a person says ─┬─> told   (never run again)
                                                                └─> started (it had not happened)
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import ColumnElement, Connection, RowMapping, insert, select, update

from seconder.action import Json
from seconder.store.row import Sealer, from_millis, to_millis
from seconder.store.tables import effects


class EffectState(StrEnum):
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNCERTAIN = "uncertain"  #: started, and its worker never came back
    TOLD = "told"  #: a person said what happened
    CLEARED = "cleared"  #: a person said that it did not happen: it may start again


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    id: str
    review_id: str
    pause_id: str | None
    fence: int
    digest: str
    key: str
    state: EffectState
    started_at: datetime
    ended_at: datetime | None = None
    result: Json = None  #: {result, error}


class Effects:
    """Executions of gated calls, in one transaction."""

    def __init__(self, connection: Connection, sealer: Sealer) -> None:
        self._db, self._sealer = connection, sealer

    def add(self, effect: Effect) -> None:
        """Recorded as started."""
        self._db.execute(
            insert(effects).values(
                id=effect.id,
                review_id=effect.review_id,
                pause_id=effect.pause_id,
                fence=effect.fence,
                digest=effect.digest,
                key=effect.key,
                state=effect.state,
                started_at=to_millis(effect.started_at),
            )
        )

    def of_review(self, review_id: str) -> Effect | None:
        return self._one(effects.c.review_id == review_id)

    def get(self, effect_id: str) -> Effect | None:
        return self._one(effects.c.id == effect_id)

    def unfinished(self, pause_id: str, *, before_fence: int) -> list[Effect]:
        """Effects that an earlier lease of this pause started and never ended."""
        query = select(effects).where(
            effects.c.pause_id == pause_id, effects.c.state == EffectState.STARTED, effects.c.fence < before_fence
        )
        return [self._read(row) for row in self._db.execute(query).mappings()]

    def restart(self, effect: Effect, *, fence: int, at: datetime) -> bool:
        """Cleared -> started under this fence; whether it was cleared."""
        query = update(effects).where(effects.c.id == effect.id, effects.c.state == EffectState.CLEARED)
        values = {"state": EffectState.STARTED, "fence": fence, "started_at": to_millis(at), "ended_at": None}
        return self._db.execute(query.values(**values)).rowcount == 1

    def end(self, effect: Effect, state: EffectState, *, of: EffectState, at: datetime, result: Json = None) -> bool:
        """`of` -> `state` with this result; whether it was `of`."""
        query = update(effects).where(effects.c.id == effect.id, effects.c.state == of, effects.c.fence == effect.fence)
        sealed = self._sealer.seal_json(result, table="effects", column="result", row=effect.id)
        return self._db.execute(query.values(state=state, ended_at=to_millis(at), result=sealed)).rowcount == 1

    def _one(self, where: ColumnElement[bool]) -> Effect | None:
        row = self._db.execute(select(effects).where(where)).mappings().first()
        return None if row is None else self._read(row)

    def _read(self, row: RowMapping) -> Effect:
        return Effect(
            id=row["id"],
            review_id=row["review_id"],
            pause_id=row["pause_id"],
            fence=row["fence"],
            digest=row["digest"],
            key=row["key"],
            state=EffectState(row["state"]),
            started_at=from_millis(row["started_at"]),
            ended_at=from_millis(row["ended_at"]),
            result=self._sealer.open_json(row["result"], table="effects", column="result", row=row["id"]),
        )
