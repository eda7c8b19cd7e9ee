"""Run as a process of its own: writes to the store of a database and says each commit on standard output.

python -m tests.support.writing once URL        one commit
python -m tests.support.writing loop URL NAME   commits until killed; each line is a subject that is committed
"""

import itertools
import sys

from seconder.store.tx import Tx
from tests.support.store import open_store


def put(subject: str, tx: Tx) -> None:
    """One commit: a queue item and its trail entry."""
    now = tx.now()
    tx.queue.put("card", subject, now=now)
    tx.trail.append("admin", "wrote", {"subject": subject}, at=now)


def main(mode: str, url: str, name: str = "one") -> None:
    store = open_store(url)
    for number in itertools.count() if mode == "loop" else [0]:
        subject = f"{name}-{number}"
        store.write(lambda tx, subject=subject: put(subject, tx))  # type: ignore[misc]
        sys.stdout.write(f"{subject}\n")
        sys.stdout.flush()
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
