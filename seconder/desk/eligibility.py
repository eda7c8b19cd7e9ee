"""Who may decide a review: asked at the click, inside the deciding transaction.

No rule, no role, an unknown person: no. Facts older than the desk accepts raise StaleFacts, so that
the caller can look again; nobody is let in by an old look.
"""

from collections.abc import Iterable
from datetime import datetime

from seconder.action import Json
from seconder.decision import Edits, Role
from seconder.desk.desk import Desk, subject_of
from seconder.errors import NotEligible, StaleFacts
from seconder.review import Review
from seconder.store.people import Person
from seconder.store.tx import Tx


def check_eligible(desk: Desk, tx: Tx, review: Review, *, team_id: str, user_id: str) -> None:
    """Raises: NotEligible with a sentence for this person; StaleFacts."""
    now = tx.now()
    person = _fresh_person(desk, tx, review, team_id, user_id, now)
    workspace = tx.people.workspace()
    if workspace is None or team_id != workspace.team_id or person.is_external:
        raise NotEligible("Only people of the workspace that this app is installed in can decide this.")
    if person.deleted or person.is_bot:
        raise NotEligible("Deactivated people and bots cannot decide.")
    if person.is_guest:
        raise NotEligible("Guests cannot decide this.")
    if user_id == review.requester_user:
        raise NotEligible("The agent acts for you here, so somebody else has to decide.")
    if user_id == review.editor and review.verdict.edits is Edits.SECOND:
        raise NotEligible("You edited this, so somebody else has to decide.")
    if user_id not in members(desk, tx, _roles(desk, review), team_id, now):
        raise NotEligible(f"Only {_who(review)} can decide this.")


def check_approvable(tx: Tx, review: Review, *, user_id: str) -> None:
    """Raises: NotEligible where nobody can approve it as things stand."""
    if review.undecidable is not None:
        raise NotEligible(review.undecidable)
    requester = review.interrupt.requester
    if requester is not None and requester.slack_user is None and requester.email and review.requester_user is None:
        raise NotEligible(f"{requester.email} is not exactly one person in this workspace, so nobody can approve this.")
    if review.verdict.must_open and not tx.reviews.has_opened(review.id, user_id, review.digest):
        raise NotEligible("Open *View all* first: this rule wants the full arguments read before Approve.")


def still_eligible(desk: Desk, tx: Tx, review: Review, people: Iterable[str], team_id: str) -> tuple[str, ...]:
    """Those of the people who may decide it now, in their order. Raises: StaleFacts."""
    kept: list[str] = []
    stale_people: set[str] = set()
    stale_groups: set[str] = set()
    for user_id in people:
        try:
            check_eligible(desk, tx, review, team_id=team_id, user_id=user_id)
        except NotEligible:
            continue
        except StaleFacts as stale:
            stale_people.update(stale.people)
            stale_groups.update(stale.groups)
        else:
            kept.append(user_id)
    if stale_people or stale_groups:
        raise StaleFacts(sorted(stale_people), sorted(stale_groups))
    return tuple(kept)


def drop_votes(tx: Tx, review: Review, people: Iterable[str]) -> None:
    """Approvals of people who may not decide any more count no longer, and the card does not show them."""
    dropped: list[Json] = list(people)
    for person in dropped:
        tx.reviews.unvote(review.id, str(person))
    record: Json = {"people": dropped, "why": "may not decide this any more"}
    tx.trail.append(subject_of(review.id), "votes_dropped", record, at=tx.now())


def members(desk: Desk, tx: Tx, roles: list[Role], team_id: str, now: datetime) -> frozenset[str]:
    """Everybody in one of the roles. Raises: StaleFacts for groups that were looked at too long ago."""
    found = frozenset().union(*(role.users for role in roles)) if roles else frozenset()
    stale = []
    for group_id in sorted(frozenset().union(*(role.user_groups for role in roles)) if roles else frozenset()):
        group = tx.people.group(team_id, group_id)
        if group is None or now - group.as_of > desk.fresh:
            stale.append(group_id)
        else:
            found |= group.members
    if stale:
        raise StaleFacts([], stale)
    return found


def _roles(desk: Desk, review: Review) -> list[Role]:
    route, known = review.verdict.route, desk.roles
    return [] if route is None else [known[name] for name in route.roles if name in known]


def _who(review: Review) -> str:
    route = review.verdict.route
    return "nobody" if route is None or not route.roles else " or ".join(route.roles)


def _fresh_person(desk: Desk, tx: Tx, review: Review, team_id: str, user_id: str, now: datetime) -> Person:
    person = tx.people.person(team_id, user_id)
    groups = sorted({group for role in _roles(desk, review) for group in role.user_groups})
    if person is None or now - person.as_of > desk.fresh:
        raise StaleFacts([user_id], groups)
    return person
