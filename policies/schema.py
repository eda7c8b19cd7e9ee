"""From the text of policy files to one policy; every fault is reported at once, with its line."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seconder.action import digest_of
from seconder.decision import Role
from seconder.errors import PolicyInvalid
from seconder.policies.nodes import Faults, Spot, compose
from seconder.policies.policy import Policy
from seconder.policies.routes import Routes
from seconder.policies.rule_schema import read_rule
from seconder.policies.rules import FALLBACK, Fallback, Rule

VERSION = "1"
KEYS = ("version", "roles", "fallback", "rules", "break_glass")
USER = re.compile(r"[UW][A-Z0-9]{2,20}")
GROUP = re.compile(r"S[A-Z0-9]{2,20}")
MAX_ROLE_NAME = 80


@dataclass(frozen=True, slots=True)
class Source:
    """One file."""

    name: str
    text: str


def read(sources: Sequence[Source]) -> Policy:
    """Rules are in the order of the files.

    Raises: PolicyInvalid with every fault.
    """
    faults = Faults()
    roots = [compose(source.text, source.name, faults) for source in sources]
    if faults.found:
        raise PolicyInvalid(faults.in_order())
    files = _Files(faults, [_top(root) for root in roots if root is not None])
    roles = files.roles()
    routes = Routes(roles)
    fallback = files.fallback(routes)
    rules = files.rules(routes)
    break_glass = files.break_glass(routes)
    if fallback is None:
        faults.add(sources[0].name, 1, FALLBACK, "is missing; say where to ask about what no rule names")
    if fallback is None or faults.found:
        raise PolicyInvalid(faults.in_order())
    return Policy(roles=roles, last=fallback, rules=rules, digest=_digest(sources), break_glass=break_glass)


def _top(root: Spot) -> dict[str, Spot]:
    parts = root.fields(KEYS, required=["version"])
    if "version" in parts and parts["version"].plain() != VERSION:
        parts["version"].fault(f"must be {VERSION}, the only version there is")
    return parts


@dataclass(frozen=True, slots=True)
class _Files:
    """The top-level keys of all files, merged as far as they may be."""

    faults: Faults
    parts: list[dict[str, Spot]]

    def roles(self) -> Mapping[str, Role]:
        roles: dict[str, Role] = {}
        places: dict[str, str] = {}
        for spot in self._all("roles"):
            for name, entry in spot.entries():
                if name in roles:
                    entry.fault(f"role {name!r} is declared at {places[name]} already; keep one")
                elif not 0 < len(name) <= MAX_ROLE_NAME:
                    entry.fault(f"a role's name has 1 to {MAX_ROLE_NAME} characters")
                roles[name], places[name] = _read_role(entry), entry.source
        return roles

    def fallback(self, routes: Routes) -> Fallback | None:
        found = self._once(FALLBACK)
        return None if found is None else Fallback(routes.read(found), found.source)

    def rules(self, routes: Routes) -> tuple[Rule, ...]:
        rules: dict[str, Rule] = {}
        for spot in self._all("rules"):
            for entry in spot.items(least=0):
                rule = read_rule(entry, routes)
                if rule is not None and rule.name in rules:
                    entry.fault(f"the name {rule.name!r} is taken by the rule at {rules[rule.name].source}; rename one")
                elif rule is not None:
                    rules[rule.name] = rule
        return tuple(rules.values())

    def break_glass(self, routes: Routes) -> tuple[str, ...]:
        found = self._once("break_glass")
        return () if found is None else routes.read_roles(found)

    def _all(self, key: str) -> list[Spot]:
        return [parts[key] for parts in self.parts if key in parts]

    def _once(self, key: str) -> Spot | None:
        found = self._all(key)
        for again in found[1:]:
            again.fault(f"stands at {found[0].source} already; keep one of them")
        return found[0] if found else None


def _read_role(spot: Spot) -> Role:
    parts = spot.fields(["users", "user_groups"])
    users = _read_ids(parts.get("users"), USER, "a Slack user id such as U01ALICE")
    groups = _read_ids(parts.get("user_groups"), GROUP, "a Slack user group id such as S0FIN")
    if not users and not groups and not ({"users", "user_groups"} & parts.keys()):
        spot.fault("nobody is in this role; add users or user_groups")
    return Role(users=users, user_groups=groups)


def _read_ids(spot: Spot | None, shape: re.Pattern[str], what: str) -> frozenset[str]:
    ids = set()
    for entry in spot.items() if spot else ():
        ident = entry.text()
        if ident and not shape.fullmatch(ident):
            entry.fault(f"{ident!r} is not {what}; copy the id from Slack, not the name")
        ids.add(ident)
    return frozenset(ids)


def _digest(sources: Sequence[Source]) -> str:
    if len(sources) == 1:
        return digest_of(sources[0].text.encode())
    return digest_of("\0".join(part for source in sources for part in (source.name, source.text)).encode())
