"""The queue against a model, in any order of events: at least once, one at a time, nothing lost."""

import shutil
import tempfile
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from seconder.store.queue import MAX_ATTEMPTS, Item, Priority
from tests.support.store import LEASE, NOON, opened

SUBJECTS = st.sampled_from(["a", "b"])


@dataclass
class Known:
    """What the model knows of a subject."""

    owed: bool = False  #: put, and nobody has begun to look since
    holder: Item | None = None  #: the claim that counts
    until: int = 0  #: when its lease ends, in seconds
    dead: int = 0


@dataclass
class World:
    subjects: dict[str, Known] = field(default_factory=lambda: {"a": Known(), "b": Known()})
    seconds: int = 0
    stale: list[Item] = field(default_factory=list)


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.opened = opened(f"sqlite:///{self.folder / 'q.db'}")
        self.store = self.opened.__enter__()
        self.world = World()

    def teardown(self) -> None:
        self.everything_owed_is_worked_on_in_the_end()
        self.opened.__exit__(None, None, None)
        shutil.rmtree(self.folder)

    @property
    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.world.seconds)

    @rule(subject=SUBJECTS, priority=st.sampled_from(Priority))
    def put(self, subject: str, priority: Priority) -> None:
        self.store.write(lambda tx: tx.queue.put("t", subject, now=self.now, priority=priority))
        self.world.subjects[subject].owed = True

    @rule(seconds=st.integers(1, 30))
    def time_passes(self, seconds: int) -> None:
        self.world.seconds += seconds

    @rule(limit=st.integers(1, 3))
    def claim(self, limit: int) -> None:
        items = self.store.write(lambda tx: tx.queue.claim(["t"], worker="w", now=self.now, lease=LEASE, limit=limit))
        assert len(items) <= limit
        for item in items:
            known = self.world.subjects[item.subject]
            if known.holder is not None:  # only the leased item itself, and only after its lease
                assert self.world.seconds >= known.until
                assert (item.id, item.fence) == (known.holder.id, known.holder.fence + 1)
                self.world.stale.append(known.holder)
            else:
                known.owed = False
            known.holder, known.until = item, self.world.seconds + 10

    def everything_owed_is_worked_on_in_the_end(self) -> None:
        for _ in range(2 * MAX_ATTEMPTS):
            self.world.seconds += 3600
            self.claim(limit=3)
            for known in self.holders():
                item = known.holder
                assert item is not None
                if self.store.write(lambda tx, item=item: tx.queue.done(item)):  # type: ignore[misc]
                    known.holder = None
        assert not any(known.owed for known in self.world.subjects.values())
        assert {item.state for item in self.items()} <= {"dead"}

    def holders(self) -> list[Known]:
        return [known for known in self.world.subjects.values() if known.holder is not None]

    @precondition(lambda self: self.holders())
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        known = data.draw(st.sampled_from(self.holders()))
        item = known.holder
        assert item is not None
        alive = self.leased(known)
        assert self.store.write(lambda tx: tx.queue.done(item)) is alive
        if not alive:
            known.dead += 1
        known.holder = None

    @precondition(lambda self: self.holders())
    @rule(data=st.data(), counts=st.booleans())
    def fail(self, data: st.DataObject, counts: bool) -> None:
        known = data.draw(st.sampled_from(self.holders()))
        item = known.holder
        assert item is not None
        alive = self.leased(known)
        end = self.store.write(lambda tx: tx.queue.fail(item, error="x", now=self.now, counts=counts))
        if not alive:
            assert end == "lost"
            known.dead += 1
        elif counts and item.attempts >= MAX_ATTEMPTS:
            assert end == "dead"
            known.dead += 1
        else:
            assert end == "queued"
            known.owed = True
        known.holder = None

    @precondition(lambda self: self.world.stale)
    @rule(data=st.data())
    def a_stale_report_does_not_count(self, data: st.DataObject) -> None:
        item = data.draw(st.sampled_from(self.world.stale))
        before = self.items()
        assert not self.store.write(lambda tx: tx.queue.done(item))
        assert self.store.write(lambda tx: tx.queue.fail(item, error="x", now=self.now)) == "lost"
        assert self.items() == before

    @precondition(lambda self: any(known.dead for known in self.world.subjects.values()))
    @rule(again=st.booleans())
    def somebody_looks_at_a_dead_one(self, again: bool) -> None:
        item = next(item for item in self.items() if item.state == "dead")
        known = self.world.subjects[item.subject]
        known.dead -= 1
        if again:
            assert self.store.write(lambda tx: tx.queue.retry(item.id, now=self.now))
            known.owed = True
        else:
            assert self.store.write(lambda tx: tx.queue.drop(item.id))

    def leased(self, known: Known) -> bool:
        return any(known.holder is not None and i.id == known.holder.id and i.state == "leased" for i in self.items())

    def items(self) -> list[Item]:
        return self.store.read(lambda tx: tx.queue.listed())

    @invariant()
    def nothing_is_lost_and_one_is_worked_on_at_a_time(self) -> None:
        items = self.items()
        for subject, known in self.world.subjects.items():
            states = [item.state for item in items if item.subject == subject]
            assert states.count("queued") == known.owed
            assert states.count("leased") <= 1
            assert states.count("leased") + states.count("dead") == known.dead + (known.holder is not None)


QueueMachine.TestCase.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)
TestTheQueueInAnyOrder = QueueMachine.TestCase
