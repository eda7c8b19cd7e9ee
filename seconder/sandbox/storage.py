"""The workspace's memory: one SQLite file of JSON documents and messages."""

import json
import sqlite3
from pathlib import Path
from typing import Any

Doc = dict[str, Any]

_TABLES = """
CREATE TABLE IF NOT EXISTS things (
    kind TEXT NOT NULL, id TEXT NOT NULL, body TEXT NOT NULL, place INTEGER PRIMARY KEY, UNIQUE (kind, id)
);
CREATE TABLE IF NOT EXISTS messages (
    channel TEXT NOT NULL, ts TEXT NOT NULL, thread TEXT, viewer TEXT, body TEXT NOT NULL, past TEXT NOT NULL,
    deleted INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (channel, ts)
);
CREATE INDEX IF NOT EXISTS messages_by_thread ON messages (channel, thread);
"""

PAST_KEPT = 20


class Storage:
    """Reads and writes documents; each call is its own transaction and is on disk when it returns."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.execute("PRAGMA busy_timeout = 5000")
        self._db.executescript(_TABLES)

    def close(self) -> None:
        self._db.close()

    def get(self, kind: str, name: str) -> Doc | None:
        row = self._db.execute("SELECT body FROM things WHERE kind = ? AND id = ?", (kind, name)).fetchone()
        return json.loads(row[0]) if row else None

    def put(self, kind: str, name: str, body: Doc) -> None:
        self._db.execute(
            "INSERT INTO things (kind, id, body) VALUES (?, ?, ?) "
            "ON CONFLICT (kind, id) DO UPDATE SET body = excluded.body",
            (kind, name, json.dumps(body)),
        )

    def drop(self, kind: str, name: str) -> None:
        self._db.execute("DELETE FROM things WHERE kind = ? AND id = ?", (kind, name))

    def all(self, kind: str) -> list[Doc]:
        """Every document of a kind, in the order in which they were first put."""
        rows = self._db.execute("SELECT body FROM things WHERE kind = ? ORDER BY place", (kind,))
        return [json.loads(body) for (body,) in rows]

    def add_message(self, channel: str, body: Doc, *, viewer: str | None = None) -> None:
        self._db.execute(
            "INSERT INTO messages (channel, ts, thread, viewer, body, past) VALUES (?, ?, ?, ?, ?, '[]')",
            (channel, body["ts"], body.get("thread_ts"), viewer, json.dumps(body)),
        )

    def message(self, channel: str, ts: str) -> tuple[Doc, str | None] | None:
        """(message, the only person who sees it or None); None where it never was or is deleted."""
        row = self._db.execute(
            "SELECT body, viewer FROM messages WHERE channel = ? AND ts = ? AND NOT deleted", (channel, ts)
        ).fetchone()
        return (json.loads(row[0]), row[1]) if row else None

    def past(self, channel: str, ts: str) -> list[Doc]:
        """Earlier versions of a message, newest first; a deleted message's last version is among them."""
        row = self._db.execute(
            "SELECT body, past, deleted FROM messages WHERE channel = ? AND ts = ?", (channel, ts)
        ).fetchone()
        if row is None:
            return []
        earlier: list[Doc] = json.loads(row[1])
        return [json.loads(row[0]), *earlier] if row[2] else earlier

    def replace_message(self, channel: str, body: Doc) -> None:
        """Store a new version and keep the old one among the past."""
        found = self.message(channel, body["ts"])
        if found is None:
            return
        past = [found[0], *self.past(channel, body["ts"])][:PAST_KEPT]
        self._db.execute(
            "UPDATE messages SET body = ?, past = ?, thread = ? WHERE channel = ? AND ts = ?",
            (json.dumps(body), json.dumps(past), body.get("thread_ts"), channel, body["ts"]),
        )

    def touch_message(self, channel: str, body: Doc) -> None:
        """Store changed counters of a message; this is no new version."""
        self._db.execute(
            "UPDATE messages SET body = ?, thread = ? WHERE channel = ? AND ts = ?",
            (json.dumps(body), body.get("thread_ts"), channel, body["ts"]),
        )

    def delete_message(self, channel: str, ts: str) -> None:
        self._db.execute("UPDATE messages SET deleted = 1 WHERE channel = ? AND ts = ?", (channel, ts))

    def messages(self, channel: str, *, viewer: str | None = None) -> list[Doc]:
        """Oldest first, threads included; private ones only for their viewer, marked by `_viewer`."""
        rows = self._db.execute(
            "SELECT body, viewer FROM messages WHERE channel = ? AND NOT deleted "
            "AND (viewer IS NULL OR viewer = ?) ORDER BY ts",
            (channel, viewer),
        )
        return [json.loads(body) | ({"_viewer": seen} if seen else {}) for body, seen in rows]

    def unread(self, channel: str, viewer: str, read: str) -> int:
        """How many messages outside threads others wrote after `read`."""
        row = self._db.execute(
            "SELECT count(*) FROM messages WHERE channel = ? AND ts > ? AND NOT deleted "
            "AND (viewer IS NULL OR viewer = ?) AND (thread IS NULL OR thread = ts) "
            "AND json_extract(body, '$.user') <> ?",
            (channel, read, viewer, viewer),
        ).fetchone()
        return int(row[0])

    def thread(self, channel: str, root: str) -> list[Doc]:
        """The root and its replies that everybody sees, oldest first."""
        rows = self._db.execute(
            "SELECT body FROM messages WHERE channel = ? AND (ts = ? OR thread = ?) AND NOT deleted "
            "AND viewer IS NULL ORDER BY ts",
            (channel, root, root),
        )
        return [json.loads(body) for (body,) in rows]

    def ephemerals(self, viewer: str) -> list[tuple[str, Doc]]:
        """(channel, message) of everything that only `viewer` sees, oldest first."""
        rows = self._db.execute(
            "SELECT channel, body FROM messages WHERE viewer = ? AND NOT deleted ORDER BY ts", (viewer,)
        )
        return [(channel, json.loads(body)) for channel, body in rows]

    def last_ts(self) -> str:
        """The newest ts ever given; "0" in an empty workspace."""
        return str(self._db.execute("SELECT coalesce(max(ts), '0') FROM messages").fetchone()[0])
