"""What importing a module costs and does: tried in a fresh interpreter, where nothing is loaded yet."""

import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import seconder

HEAVY = ("agents", "apscheduler", "fastapi", "pydantic", "pydantic_settings", "slack_bolt", "slack_sdk", "sqlalchemy")

#: Alembic's environment runs migrations when it is imported; that is Alembic's way.
RUN_BY_ALEMBIC = "seconder.store.migrations.env"

LOADED = "import json, sys; import {module}; print(json.dumps(sorted(sys.modules)))"

#: urllib3, which LangChain loads, binds a socket for a moment to learn whether there is IPv6: not ours to change.
EFFECTS = """
import json, os, sys, threading
import urllib3
seen = []
def watch(event, args):
    writing = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
    if event in ("socket.connect", "socket.bind", "sqlite3.connect", "subprocess.Popen", "os.fork") or writing:
        seen.append(f"{event} {args[0]!r}")
before = dict(os.environ)
sys.addaudithook(watch)
for module in json.loads(sys.argv[1]):
    __import__(module)
    seen.extend(f"{module} started {t.name}" for t in threading.enumerate() if t is not threading.main_thread())
    if dict(os.environ) != before:
        seen.append(f"{module} changed the environment")
print(json.dumps(seen))
"""


def fresh(code: str, *arguments: str, cwd: Path = Path(__file__).parents[2]) -> list[str]:
    """What `code` printed as JSON, run in a fresh interpreter without our settings."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-B", "-W", "ignore", "-c", code, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed: list[str] = json.loads(done.stdout)
    return printed


def modules() -> list[str]:
    found = [module.name for module in pkgutil.walk_packages(seconder.__path__, "seconder.")]
    skipped = (RUN_BY_ALEMBIC, "seconder.store.migrations.versions")
    return [name for name in found if not name.startswith(skipped) and not name.endswith("__main__")]


@pytest.mark.parametrize("module", ["seconder", "seconder.gate", "seconder.errors", "seconder.review"])
def test_what_an_agent_imports_is_light(module: str) -> None:
    loaded = {name.partition(".")[0] for name in fresh(LOADED.format(module=module))}

    assert loaded.isdisjoint(HEAVY), sorted(loaded & set(HEAVY))


def test_agent_frameworks_are_not_loaded_by_importing_the_wiring() -> None:
    loaded = {name.partition(".")[0] for name in fresh(LOADED.format(module="seconder.app"))}

    assert loaded.isdisjoint({"agents", "langgraph", "openai"})


def test_no_module_does_anything_at_import() -> None:
    assert fresh(EFFECTS, json.dumps(modules())) == []


def test_the_watch_sees_what_it_watches_for(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text("import os, sqlite3\nsqlite3.connect('busy.db')\nos.environ['BUSY'] = '1'\n")

    assert fresh(EFFECTS, '["busy"]', cwd=tmp_path) == ["sqlite3.connect 'busy.db'", "busy changed the environment"]
