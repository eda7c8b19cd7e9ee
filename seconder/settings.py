"""The environment as one frozen object; every fault is named at once, with its variable and what to do.

An empty variable counts as unset. Beside a demo's folder its `demo.env` fills in what the
environment does not say, unless the environment names a database of its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from seconder.errors import ConfigurationError

DEFAULT_DATABASE_URL = "sqlite:///seconder.db"
DEFAULT_SLACK_API_URL = "https://slack.com/api/"
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8710
HIGHEST_PORT = 65535
DEMO_FILE = Path("seconder-demo") / "demo.env"

LogKind: TypeAlias = Literal["console", "json"]

#: Every variable of ours, and what it is for.
VARIABLES: Mapping[str, str] = {
    "SLACK_BOT_TOKEN": "the bot's token, xoxb-…",
    "SLACK_APP_TOKEN": "the app's token for Socket Mode, xapp-…",
    "SLACK_SIGNING_SECRET": "what Slack signs its requests with, for HTTP at /slack/events",
    "SECONDER_SLACK_API_URL": "another Slack, such as the sandbox",
    "SECONDER_DATABASE_URL": "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME",
    "SECONDER_POLICY": "a YAML file or a folder of them",
    "SECONDER_KEYS": "the key ring, newest first",
    "SECONDER_BASE_URL": "where agents and workers reach the server",
    "SECONDER_HOST": "where the server listens",
    "SECONDER_PORT": "where the server listens",
    "SECONDER_LOG": "console or json",
    "SECONDER_TOKEN": "what an agent or a worker signs in with",
    "SECONDER_TESTING": "1 lets crash points and faults of tests work",
    "SECONDER_CRASH_AT": "the crash point at which a test ends the process",
    "SECONDER_DEMO_FOLDER": "where the demo keeps its things",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a process is told from outside; secrets are not in its repr."""

    slack_bot_token: str | None = field(default=None, repr=False)
    slack_app_token: str | None = field(default=None, repr=False)  #: present: Socket Mode
    slack_signing_secret: str | None = field(default=None, repr=False)
    slack_api_url: str = DEFAULT_SLACK_API_URL  #: ends with a slash
    database_url: str = field(default=DEFAULT_DATABASE_URL, repr=False)  #: may hold a password
    policy: Path | None = None
    keys: str | None = field(default=None, repr=False)  #: the ring as `seconder.keyring.parse_keys` reads it
    base_url: str | None = None  #: without a slash at the end
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    log: LogKind = "console"
    token: str | None = field(default=None, repr=False)
    demo: Path | None = None  #: the folder of the demo whose settings fill in the rest

    @property
    def database(self) -> str:
        """The database's address without its password, for people."""
        head, sign, rest = self.database_url.partition("://")
        login, at, place = rest.rpartition("@")
        return f"{head}{sign}{login.partition(':')[0]}{at}{place}"


def read(environ: Mapping[str, str], cwd: Path | None = None) -> Settings:
    """The settings in `environ`; with `cwd`, those of a demo beside it where no database is named.

    Raises: ConfigurationError with every fault, one to a line.
    """
    given = {name: value.strip() for name, value in environ.items() if value.strip()}
    faults: list[str] = []
    demo = None
    if cwd is not None and "SECONDER_DATABASE_URL" not in given and (cwd / DEMO_FILE).is_file():
        demo = (cwd / DEMO_FILE).parent
        given = {**_pairs(cwd / DEMO_FILE, faults), **given}
    settings = Settings(
        slack_bot_token=_prefixed(given, "SLACK_BOT_TOKEN", "xoxb-", faults),
        slack_app_token=_prefixed(given, "SLACK_APP_TOKEN", "xapp-", faults),
        slack_signing_secret=given.get("SLACK_SIGNING_SECRET"),
        slack_api_url=(_web(given, "SECONDER_SLACK_API_URL", faults) or DEFAULT_SLACK_API_URL).rstrip("/") + "/",
        database_url=_database(given, faults),
        policy=Path(given["SECONDER_POLICY"]) if "SECONDER_POLICY" in given else None,
        keys=given.get("SECONDER_KEYS"),
        base_url=_web(given, "SECONDER_BASE_URL", faults),
        host=given.get("SECONDER_HOST", DEFAULT_HOST),
        port=_port(given, faults),
        log=_log(given, faults),
        token=_prefixed(given, "SECONDER_TOKEN", "sdr_", faults),
        demo=demo,
    )
    if faults:
        raise ConfigurationError("\n".join(faults))
    return settings


def with_policy(settings: Settings, policy: Path | None) -> Settings:
    """The same settings with this policy, where one is given."""
    return settings if policy is None else replace(settings, policy=policy)


def unknown(names: Iterable[str]) -> list[str]:
    """Which of these variable names look like ours and are not, sorted."""
    ours = (name for name in names if name.startswith(("SECONDER_", "SLACK_")))
    return sorted(name for name in ours if name not in VARIABLES)


def _pairs(file: Path, faults: list[str]) -> dict[str, str]:
    pairs = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, sign, value = text.partition("=")
        if not sign:
            faults.append(f"{file}:{number}: write NAME=VALUE, or start `seconder demo` again to have it written")
            continue
        pairs[name.strip()] = value.strip()
    return pairs


def _prefixed(given: Mapping[str, str], name: str, prefix: str, faults: list[str]) -> str | None:
    value = given.get(name)
    if value is not None and not value.startswith(prefix):
        faults.append(f"{name} does not begin with {prefix}: set it to {VARIABLES[name]}")
    return value


def _web(given: Mapping[str, str], name: str, faults: list[str]) -> str | None:
    value = given.get(name)
    if value is None:
        return None
    try:
        parts = urlsplit(value)
        good = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        good = False
    if not good:
        faults.append(f"{name} is {value!r}, which is no web address: write it like https://seconder.example.com")
    return value.rstrip("/")


def _database(given: Mapping[str, str], faults: list[str]) -> str:
    url = given.get("SECONDER_DATABASE_URL", DEFAULT_DATABASE_URL)
    scheme, sign, rest = url.partition("://")
    if sign and scheme in {"postgres", "postgresql", "postgresql+psycopg"}:
        return f"postgresql+psycopg://{rest}"
    if url.startswith("sqlite:///") and len(url) > len("sqlite:///"):
        return url
    faults.append(f"SECONDER_DATABASE_URL names no database: write {VARIABLES['SECONDER_DATABASE_URL']}")
    return url


def _port(given: Mapping[str, str], faults: list[str]) -> int:
    text = given.get("SECONDER_PORT", str(DEFAULT_PORT))
    if text.isascii() and text.isdigit() and int(text) <= HIGHEST_PORT:
        return int(text)
    faults.append(f"SECONDER_PORT is {text!r}: give a number from 0 to {HIGHEST_PORT}")
    return DEFAULT_PORT


def _log(given: Mapping[str, str], faults: list[str]) -> LogKind:
    match given.get("SECONDER_LOG", "console"):
        case "console":
            return "console"
        case "json":
            return "json"
        case other:
            faults.append(f"SECONDER_LOG is {other!r}: set it to console or json")
            return "console"
