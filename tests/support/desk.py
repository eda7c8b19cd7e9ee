"""A desk on a real store, with people who have pressed buttons before."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from seconder.action import Action
from seconder.desk import people, submit
from seconder.desk.desk import Desk
from seconder.desk.press import Press
from seconder.policies import Policy, parse
from seconder.review import Agent, Interrupt, Kind, Requester, Review
from seconder.store.people import Group, Person, Workspace
from seconder.store.tokens import Token
from seconder.store.tx import Tx
from tests.support.store import opened

TEAM = "T0DEMO"
RILEY, ALICE, BOB, LENA, OLGA = "U01RILEY", "U02ALICE", "U03BOB", "U04LENA", "U06OLGA"
CHANNEL_IDS = {"#refunds": "C0REFUNDS", "#leads": "C0LEADS", "#agents": "C0AGENTS"}

POLICY = """
version: 1
roles:
  finance: {user_groups: [S0FINANCE]}
  leads: {users: [U04LENA]}
fallback: {channel: "#agents", roles: [leads]}
rules:
  - name: refunds
    tool: issue_refund
    verdict: ask
    because: Refunds need a person.
    route: {channel: "#refunds", roles: [finance], approvals: 1}
    ladder:
      - {after: 10m, remind: true}
      - {after: 20m, escalate: {channel: "#leads", roles: [leads]}}
      - {after: 4h, default: reject}
  - {name: reads, tool: look_up, verdict: allow}
  - {name: never, tool: delete_account, verdict: deny, because: Accounts are never deleted.}
  - name: wires
    tool: wire
    verdict: ask
    because: Wires need two.
    route: {channel: "#refunds", roles: [finance, leads], approvals: 2}
"""


@contextmanager
def a_desk(url: str, policy: str = POLICY, **changes: Any) -> Iterator[Desk]:
    """A desk whose workspace, people and groups were looked at just now."""
    with opened(url) as store:
        numbers = itertools.count(1)
        held: Policy = parse(policy, name="policy.yml")
        desk = Desk(store=store, policy=lambda: held, new_id=lambda prefix: f"{prefix}_{next(numbers):06d}", **changes)
        look_again(desk)
        yield desk


def look_again(desk: Desk, **facts: Mapping[str, Any]) -> None:
    """Everybody is seen anew; `facts` changes single people by their lower-case name."""
    now = people.now(desk)
    users = {"riley": RILEY, "alice": ALICE, "bob": BOB, "lena": LENA, "olga": OLGA}
    seen = tuple(
        Person(
            **{
                "team_id": TEAM,
                "user_id": user,
                "name": name.title(),
                "email": f"{name}@acme.example",
                "deleted": False,
                "is_bot": False,
                "is_guest": False,
                "is_external": False,
                "as_of": now,
                **facts.get(name, {}),
            }
        )
        for name, user in users.items()
    )
    groups = (Group(team_id=TEAM, group_id="S0FINANCE", members=frozenset({ALICE, BOB}), as_of=now),)
    workspace = Workspace(
        team_id=TEAM, enterprise_id=None, bot_id="B0", bot_user_id="U0BOT", name="Acme", url=None, as_of=now
    )
    people.remember(desk, people.Seen(people=seen, groups=groups, workspace=workspace))


def token(agent: str = "shop") -> Token:
    return Token(id=f"at_{agent}", agent=agent, created_at=datetime(2026, 1, 1, tzinfo=UTC), revoked_at=None)


def refund(amount: float = 240, *, call_id: str = "call_1", **more: Any) -> Interrupt:
    """An interrupt for a refund asked by Riley's agent."""
    schema = {
        "type": "object",
        "properties": {"amount": {"type": "number", "minimum": 0}, "order": {"type": "string"}},
        "required": ["amount", "order"],
        "additionalProperties": False,
    }
    values: dict[str, Any] = {
        "kind": Kind.TOOL_CALL,
        "agent": Agent(name="shop"),
        "action": Action(tool="issue_refund", arguments={"amount": amount, "order": "O-991"}, schema=schema),
        "requester": Requester(slack_user=RILEY),
        "session": "s-1",
        "call_id": call_id,
        **more,
    }
    return Interrupt(**values)


def submitted(desk: Desk, interrupt: Interrupt) -> Review:
    """A review of its own."""
    return submit.submit_review(desk, token(interrupt.agent.name), interrupt)[0]


def paused(desk: Desk, *interrupts: Interrupt, run: str = "run-1") -> str:
    """The id of a pause with these interrupts."""
    request = submit.PauseRequest(
        run=run,
        agent=Agent(name="shop"),
        framework="test",
        framework_version="1",
        run_state=b'{"here":1}',
        interrupts=interrupts,
    )
    return submit.submit_pause(desk, token(), request)[0]


def post_card(desk: Desk, review_id: str) -> None:
    """The card of the newest revision is posted, as the dispatcher would."""

    def write(tx: Tx) -> None:
        card = [message for message in tx.messages.of_review(review_id) if message.kind == "card"][-1]
        channel = CHANNEL_IDS[card.channel]
        tx.messages.change(card.id, channel_id=channel, state="posting")
        tx.messages.place(card.id, team_id=TEAM, channel_id=channel, ts=f"1.{card.id}")

    desk.store.write(write)


def press_on(desk: Desk, review_id: str, user: str, **changes: Any) -> Press:
    """A press of this person on the newest card."""
    cards = desk.store.read(lambda tx: [m for m in tx.messages.of_review(review_id) if m.kind == "card"])
    card = cards[-1]
    if card.ts is None:
        post_card(desk, review_id)
        card = desk.store.read(lambda tx: [m for m in tx.messages.of_review(review_id) if m.kind == "card"])[-1]
    values = {
        "token": card.token,
        "team_id": TEAM,
        "enterprise_id": None,
        "user_id": user,
        "channel_id": card.channel_id,
        "ts": card.ts,
        **changes,
    }
    return Press(**values)


def push_clock(desk: Desk, by: timedelta) -> None:
    """It is later; people were looked at just now."""
    desk.store.write(lambda tx: tx.push_clock(by))
    look_again(desk)


def refused_as(kind: type[Exception], do: Callable[[], object]) -> Exception:
    """The error that `do` raises, which must be of this kind."""
    try:
        do()
    except kind as error:
        return error
    message = f"{kind.__name__} was expected"
    raise AssertionError(message)
