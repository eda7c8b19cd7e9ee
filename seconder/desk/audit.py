"""The trail as an auditor takes it home."""

from collections.abc import Iterator

from seconder.action import Json
from seconder.desk.desk import Desk, subject_of
from seconder.desk.wire import iso
from seconder.errors import NotFound
from seconder.store.trail import Entry


def export(desk: Desk, review_id: str | None = None) -> Iterator[dict[str, Json]]:
    """Every entry, or those of one review: subject by subject, each chain in order. Raises: NotFound."""
    subjects = desk.store.read(lambda tx: tx.trail.subjects()) if review_id is None else [subject_of(review_id)]
    for subject in subjects:
        entries = desk.store.read(lambda tx, subject=subject: tx.trail.entries(subject))  # type: ignore[misc]
        if review_id is not None and not entries:
            raise NotFound("review", review_id)
        yield from map(_said, entries)


def _said(entry: Entry) -> dict[str, Json]:
    return {
        "subject": entry.subject,
        "seq": entry.seq,
        "at": iso(entry.at),
        "kind": entry.kind,
        "payload": entry.payload,
        "hash": entry.hash,
    }
