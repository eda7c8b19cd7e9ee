"""The people, groups and channels that a new workspace begins with."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Person:
    """One member of the workspace; `title` is shown beside the name in the people switcher."""

    id: str
    name: str
    real_name: str
    title: str
    colour: str
    tz: str = "Europe/Berlin"
    is_admin: bool = False
    is_restricted: bool = False
    is_stranger: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """A user group; `members` are user ids."""

    id: str
    handle: str
    name: str
    members: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A public channel; the app is a member unless `with_app` is false."""

    id: str
    name: str
    topic: str = ""
    members: tuple[str, ...] = ()
    with_app: bool = True
    archived: bool = False


@dataclass(frozen=True, kw_only=True)
class Seed:
    """Everything a workspace starts with; it is read once, when the workspace's file is created."""

    team_id: str
    team_name: str
    domain: str
    app_id: str
    bot_user: str
    bot_id: str
    bot_name: str
    email_domain: str
    people: tuple[Person, ...]
    groups: tuple[Group, ...]
    channels: tuple[Channel, ...]


BOT_TOKEN = "xoxb-sandbox"  # noqa: S105  made up
APP_TOKEN = "xapp-sandbox"  # noqa: S105  made up
SIGNING_SECRET = "sandbox-signing-secret"  # noqa: S105  made up

_EVERYONE = ("U01RILEY", "U02ALICE", "U03BOB", "U04LENA", "U05ADAM", "U06OLGA")
_LEADS = ("U02ALICE", "U03BOB", "U04LENA", "U05ADAM")

DEMO_SEED = Seed(
    team_id="T0DEMO",
    team_name="Acme",
    domain="acme",
    app_id="A0SECONDER",
    bot_user="U0SECONDER",
    bot_id="B0SECONDER",
    bot_name="Seconder",
    email_domain="acme.example",
    people=(
        Person(id="U01RILEY", name="riley", real_name="Riley Reyes", title="Support, the requester", colour="#b4472f"),
        Person(id="U02ALICE", name="alice", real_name="Alice Adler", title="Finance reviewer", colour="#2f6fb4"),
        Person(id="U03BOB", name="bob", real_name="Bob Brandt", title="Finance reviewer", colour="#3d7d4a"),
        Person(id="U04LENA", name="lena", real_name="Lena Lindt", title="Finance lead", colour="#7a4fb0"),
        Person(id="U05ADAM", name="adam", real_name="Adam Moreau", title="Admin", colour="#8a6414", is_admin=True),
        Person(id="U06OLGA", name="olga", real_name="Olga Orlova", title="Outsider, in no group", colour="#a33d74"),
    ),
    groups=(
        Group(id="S0FINANCE", handle="finance", name="Finance", members=("U02ALICE", "U03BOB")),
        Group(id="S0LEADS", handle="finance-leads", name="Finance leads", members=("U04LENA",)),
        Group(id="S0ADMINS", handle="admins", name="Admins", members=("U05ADAM",)),
    ),
    channels=(
        Channel(id="C01REFUNDS", name="refunds", topic="Refunds that need a second", members=_EVERYONE),
        Channel(id="C02LEADS", name="finance-leads", topic="Where refunds go when nobody answers", members=_LEADS),
        Channel(id="C03MAIL", name="outbound-mail", topic="Mail before it leaves the house", members=_EVERYONE),
        Channel(id="C04AGENTS", name="agents", topic="Everything no rule names", members=_EVERYONE),
        Channel(id="C05SUPPORT", name="support", topic="Customers and their troubles", members=_EVERYONE),
        Channel(id="C06GENERAL", name="general", topic="Everybody", members=_EVERYONE),
    ),
)
