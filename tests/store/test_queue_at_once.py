"""Several processes' worth of threads on one queue."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from seconder.store.database import Store
from seconder.store.queue import Item
from seconder.store.tx import Tx
from tests.support.store import LEASE

SUBJECTS = ("rv0", "rv1", "rv2")


class Wishes:
    """An item only says "look at the subject": what was wished of a subject is counted here."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.wished = dict.fromkeys(SUBJECTS, 0)
        self.seen = dict.fromkeys(SUBJECTS, 0)
        self.busy = dict.fromkeys(SUBJECTS, 0)
        self.all_put = threading.Event()

    def put_often(self, number: int) -> None:
        for turn in range(30):
            subject = SUBJECTS[(number + turn) % 3]
            self.wished[subject] += 1
            self.store.write(partial(put, subject))

    def work(self, _number: int) -> None:
        while not (self.all_put.is_set() and not self.store.read(lambda tx: tx.queue.listed())):
            for item in self.store.write(claim):
                self.busy[item.subject] += 1
                assert self.busy[item.subject] == 1
                self.seen[item.subject] = self.wished[item.subject]
                self.busy[item.subject] -= 1
                self.store.write(partial(end, item))


def put(subject: str, tx: Tx) -> None:
    tx.queue.put("card", subject, now=tx.now())


def claim(tx: Tx) -> list[Item]:
    return tx.queue.claim(["card"], worker="w", now=tx.now(), lease=LEASE, limit=2)


def end(item: Item, tx: Tx) -> None:
    if item.attempts == 1 and item.id % 3 == 0:
        assert tx.queue.fail(item, error="", now=tx.now(), due_at=tx.now()) == "queued"
    else:
        assert tx.queue.done(item)


def test_putting_and_claiming_at_once_loses_no_wish_and_works_on_no_subject_twice(store: Store) -> None:
    wishes = Wishes(store)
    with ThreadPoolExecutor(6) as pool:
        producers = [pool.submit(wishes.put_often, number) for number in range(3)]
        workers = [pool.submit(wishes.work, number) for number in range(3)]
        for job in producers:
            job.result()
        wishes.all_put.set()
        for job in workers:
            job.result()

    assert wishes.seen == wishes.wished
