"""Routes: where and whom to ask, checked against the roles there are."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from seconder.decision import Role, Route
from seconder.policies.nodes import Spot, nearest

MAX_APPROVALS = 20
CHANNEL = re.compile(r"#[^\sA-Z#@.,:;!?/\\]{1,80}|[CG][A-Z0-9]{2,20}|@[UW][A-Z0-9]{2,20}")


@dataclass(frozen=True, slots=True)
class Routes:
    roles: Mapping[str, Role]

    def read(self, spot: Spot) -> Route:
        """The route; whatever is wrong with it is a fault of the file."""
        parts = spot.fields(["channel", "roles", "approvals"], required=["channel", "roles"])
        channel = parts["channel"].text() if "channel" in parts else ""
        if channel and not CHANNEL.fullmatch(channel):
            parts["channel"].fault(
                f"{channel!r} is no channel; write '#name' in small letters, a channel id such as C0REFUNDS, or '@' "
                "and a user id for a direct message"
            )
        roles = self.read_roles(parts["roles"]) if "roles" in parts else ()
        approvals = parts["approvals"].integer(1, MAX_APPROVALS) if "approvals" in parts else 1
        people = self._people(roles)
        if people is not None and approvals > people:
            parts["approvals"].fault(f"{approvals} people must approve, but only {people} can be in these roles")
        return Route(channel=channel, roles=roles, approvals=approvals)

    def read_roles(self, spot: Spot) -> tuple[str, ...]:
        """A list of declared roles, at least one, each once."""
        names: list[str] = []
        for entry in spot.items():
            name = entry.text()
            if name and name not in self.roles:
                entry.fault(f"there is no role {name!r}; {nearest(name, list(self.roles))}")
            elif name in names:
                entry.fault(f"{name!r} stands here twice; keep one")
            names.append(name)
        return tuple(names)

    def _people(self, roles: tuple[str, ...]) -> int | None:
        """How many people can be in these roles; None where a user group decides."""
        known = [self.roles[name] for name in roles if name in self.roles]
        if len(known) < len(roles) or not known or any(role.user_groups for role in known):
            return None
        return max(1, len(frozenset().union(*(role.users for role in known))))
