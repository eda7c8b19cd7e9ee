"""What every use case is handed: the store, the policy in force, and where ids come from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from seconder.decision import Role
from seconder.policies import Policy
from seconder.store.database import Store

FRESH = timedelta(seconds=60)  # facts about people and groups older than this decide nothing
LEASE = timedelta(seconds=10)  # renewed every 3 s; a dead process's rows are taken again within 15 s


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Handed to each use case; `new_id("rv")` gives `rv_` and 128 random bits."""

    store: Store
    policy: Callable[[], Policy]
    new_id: Callable[[str], str]
    fresh: timedelta = FRESH
    lease: timedelta = LEASE

    @property
    def roles(self) -> Mapping[str, Role]:
        """Who is in which role, by the policy in force now."""
        return self.policy().roles


def subject_of(review_id: str) -> str:
    """The name of a review's chain in the trail."""
    return f"review:{review_id}"
