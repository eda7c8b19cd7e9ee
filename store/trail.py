"""The append-only audit record: one hash chain per subject (`review:ID`, `admin`).

    hash(n) = SHA-256 of the RFC 8785 form of {subject, seq, at, kind, payload_digest, previous}
    payload_digest = SHA-256 of salt + payload
    previous of the first entry = the digest of nothing

An entry hashes a salted digest of its payload, so that the payload can be purged and the chain
still verifies. Tamper-evident, not tamper-proof: whoever holds the database can rewrite a whole
chain, which only a head kept elsewhere gives away.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, RowMapping, insert, select

from seconder.action import Json, canonical, digest_of
from seconder.errors import KeyMissing
from seconder.store.row import Sealer, from_millis, lock_name, to_millis
from seconder.store.tables import trail

FIRST = digest_of(b"")
SALT_BYTES = 16
SUBJECTS = 1  # the kind of name that chains are locked under


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    subject: str
    seq: int
    at: datetime
    kind: str
    payload: Json
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """Where a chain does not verify, and why, as a sentence."""

    subject: str
    seq: int
    why: str


class Trail:
    """The chains, in one transaction."""

    def __init__(self, connection: Connection, sealer: Sealer, random: Callable[[int], bytes]) -> None:
        self._db, self._sealer, self._random = connection, sealer, random

    def append(self, subject: str, kind: str, payload: Json, *, at: datetime) -> None:
        """The next entry of the subject's chain; commits or fails with the whole transaction."""
        lock_name(self._db, subject, SUBJECTS)
        query = select(trail.c.seq, trail.c.hash).where(trail.c.subject == subject).order_by(trail.c.seq.desc())
        last = self._db.execute(query.limit(1)).first()
        seq, previous = (last.seq + 1, last.hash) if last else (1, FIRST)
        salt = self._random(SALT_BYTES)
        data = json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
        columns = {
            "subject": subject,
            "seq": seq,
            "at": to_millis(at),
            "kind": kind,
            "payload_digest": digest_of(salt + data),
            "previous": previous,
        }
        sealed = self._sealer.seal(data, table="trail", column="payload", row=f"{subject}:{seq}")
        self._db.execute(insert(trail), {**columns, "hash": _hash(columns), "salt": salt, "payload": sealed})

    def entries(self, subject: str) -> list[Entry]:
        """The subject's entries in order; a purged payload is None."""
        query = select(trail).where(trail.c.subject == subject).order_by(trail.c.seq)
        return [self._read(row) for row in self._db.execute(query).mappings()]

    def subjects(self) -> list[str]:
        """Every subject that has a chain, sorted."""
        return list(self._db.execute(select(trail.c.subject).distinct().order_by(trail.c.subject)).scalars())

    def breaks(self, subject: str) -> Iterator[Break]:
        """Every place where the subject's chain does not verify."""
        previous, expected = FIRST, 1
        query = select(trail).where(trail.c.subject == subject).order_by(trail.c.seq)
        for row in self._db.execute(query).mappings():
            for why in self._faults(row, previous, expected):
                yield Break(subject=subject, seq=row["seq"], why=why)
            previous, expected = row["hash"], row["seq"] + 1

    def _faults(self, row: RowMapping, previous: str, expected: int) -> Iterator[str]:
        if row["seq"] != expected:
            yield f"entry {expected} is missing"
        if row["previous"] != previous:
            yield "does not follow the entry before it"
        if row["hash"] != _hash(row):
            yield "its hash does not match its columns"
        if row["payload"] is not None:
            try:
                data = self._open(row)
            except KeyMissing as error:
                yield str(error)
            else:
                if digest_of(row["salt"] + data) != row["payload_digest"]:
                    yield "its payload does not match its digest"

    def _open(self, row: RowMapping) -> bytes:
        place = {"table": "trail", "column": "payload", "row": f"{row['subject']}:{row['seq']}"}
        return self._sealer.open(row["payload"], **place)

    def _read(self, row: RowMapping) -> Entry:
        payload = None if row["payload"] is None else json.loads(self._open(row))
        return Entry(
            subject=row["subject"],
            seq=row["seq"],
            at=from_millis(row["at"]),
            kind=row["kind"],
            payload=payload,
            hash=row["hash"],
        )


def _hash(columns: dict[str, object] | RowMapping) -> str:
    names = ("subject", "seq", "at", "kind", "payload_digest", "previous")
    return digest_of(canonical({name: columns[name] for name in names}, path="trail"))
