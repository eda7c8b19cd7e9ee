"""One rule of a policy file, read and checked; what must hold between its keys is checked here too."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal

from seconder.decision import Default, DefaultKind, Edits, Escalate, FieldRule, Remind, Rung, VerdictKind
from seconder.policies.case import NAMES
from seconder.policies.conditions import Expression, compiled
from seconder.policies.nodes import Spot
from seconder.policies.patterns import Tools
from seconder.policies.routes import Routes
from seconder.policies.rules import FALLBACK, Autonomy, Cap, Measure, Per, Rule
from seconder.review import Kind

MAX_NAME = 80
MAX_REASON = 75  # Slack's limit for an option of a select
MAX_LABEL = 80
MAX_TOOL = 200
MAX_RUNGS = 20
MAX_CALLS = 1_000_000

FOR_ASK = (
    *("route", "edits", "must_open", "requester", "reject_reasons", "ladder", "autonomy"),
    "i_accept_auto_allow",
)
KEYS = ("name", "tool", "kind", "when", "verdict", "because", "cap", "fields", *FOR_ASK)
BECAUSE = {
    VerdictKind.ALLOW: "Rule “{}” lets this run alone.",
    VerdictKind.ASK: "Rule “{}” asks a person.",
    VerdictKind.DENY: "Rule “{}” forbids this.",
}


def read_rule(spot: Spot, routes: Routes) -> Rule | None:
    """The rule, or None where it has no name; whatever is wrong with it is a fault of the file."""
    parts = spot.fields(KEYS, required=["name", "tool", "verdict"])
    name = _name(parts["name"]) if "name" in parts else ""
    likely = VerdictKind.ALLOW if "cap" in parts else VerdictKind.ASK
    verdict = parts["verdict"].choice(VerdictKind, likely) if "verdict" in parts else likely
    ladder = _ladder(parts["ladder"], routes) if "ladder" in parts else ()
    accepts = "i_accept_auto_allow" in parts and parts["i_accept_auto_allow"].flag()
    _check_auto_allow(parts, ladder, accepts=accepts)
    if "cap" in parts and verdict is not VerdictKind.ALLOW:
        parts["cap"].fault(f"only an allow rule has a cap, and this one says {verdict}; remove it")
    rule = Rule(
        name=name,
        source=spot.source,
        path=spot.path,
        tools=_tools(parts["tool"]) if "tool" in parts else Tools(()),
        kinds=_kinds(parts["kind"]) if "kind" in parts else frozenset(Kind),
        when=_expression(parts["when"]) if "when" in parts else None,
        verdict=verdict,
        because=parts["because"].text() if "because" in parts else BECAUSE[verdict].format(name),
        cap=_cap(parts["cap"]) if "cap" in parts else None,
        route=routes.read(parts["route"]) if "route" in parts else None,
        ladder=ladder,
        fields=_fields(parts["fields"]) if "fields" in parts else {},
        edits=parts["edits"].choice(Edits, Edits.OWN) if "edits" in parts else Edits.OWN,
        must_open="must_open" in parts and parts["must_open"].flag(),
        requester_none_ok="requester" in parts and _none_ok(parts["requester"]),
        reject_reasons=_reasons(parts["reject_reasons"]) if "reject_reasons" in parts else (),
        autonomy=_autonomy(parts["autonomy"]) if "autonomy" in parts else None,
        without_effect=tuple(key for key in FOR_ASK if key in parts and verdict is not VerdictKind.ASK),
    )
    return rule if name else None


def _name(spot: Spot) -> str:
    name = spot.text(most=MAX_NAME)
    if name == FALLBACK:
        spot.fault(f"{FALLBACK!r} is what is asked when no rule matches; choose another name")
    elif name and not name.isprintable():
        spot.fault("must be one line of printable characters")
    return name


def _tools(spot: Spot) -> Tools:
    if not spot.is_list():
        return Tools((spot.text(most=MAX_TOOL),))
    return Tools(tuple(entry.text(most=MAX_TOOL) for entry in spot.items()))


def _kinds(spot: Spot) -> frozenset[Kind]:
    entries = spot.items() if spot.is_list() else [spot]
    return frozenset(entry.choice(Kind, Kind.TOOL_CALL) for entry in entries)


def _expression(spot: Spot) -> Expression | None:
    text = spot.plain()
    found = compiled(text, NAMES)
    if isinstance(found, str):
        spot.fault(found)
        return None
    return found


# --- cap and autonomy -----------------------------------------------------------------------------


def _cap(spot: Spot) -> Cap:
    parts = spot.fields(["sum", "count", "per", "window", "limit"], required=["per", "window", "limit"])
    if ("sum" in parts) == ("count" in parts):
        spot.fault("says neither or both of 'sum: EXPRESSION' and 'count: true'; keep exactly one")
    elif "count" in parts and not parts["count"].flag():
        parts["count"].fault("must be true; use 'sum' to add something up")
    return Cap(
        measure=Measure.SUM if "sum" in parts else Measure.COUNT,
        amount=_expression(parts["sum"]) if "sum" in parts else None,
        per=parts["per"].choice(Per, Per.AGENT) if "per" in parts else Per.AGENT,
        window=parts["window"].duration() if "window" in parts else timedelta(days=1),
        limit=parts["limit"].number() if "limit" in parts else Decimal(1),
    )


def _autonomy(spot: Spot) -> Autonomy:
    parts = spot.fields(["after", "max", "sample"], required=["after"])
    most = {}
    for text, entry in parts["max"].entries() if "max" in parts else ():
        found = compiled(text, NAMES)
        if isinstance(found, str):
            entry.fault(f"the key {text!r} {found}")
        most[text] = entry.number()
    return Autonomy(
        after=parts["after"].integer(1, MAX_CALLS) if "after" in parts else 1,
        max=most,
        sample=parts["sample"].percent() if "sample" in parts else Decimal(0),
    )


# --- ladder ---------------------------------------------------------------------------------------


def _ladder(spot: Spot, routes: Routes) -> tuple[Rung, ...]:
    rungs: list[Rung] = []
    entries = spot.items(most=MAX_RUNGS)
    for index, entry in enumerate(entries):
        rung = _rung(entry, routes)
        if rungs and rung.after <= rungs[-1].after:
            entry.fault("every rung comes later than the one before it; 'after' counts from the creation of the review")
        if isinstance(rung.step, Default) and index < len(entries) - 1:
            entry.fault("a default ends the ladder; move it to the end")
        rungs.append(rung)
    return tuple(rungs)


def _rung(spot: Spot, routes: Routes) -> Rung:
    parts = spot.fields(["after", "remind", "escalate", "default"], required=["after"])
    after = parts["after"].duration() if "after" in parts else timedelta(seconds=1)
    steps = [key for key in ("remind", "escalate", "default") if key in parts]
    if len(steps) != 1:
        spot.fault("a rung does exactly one of 'remind: true', 'escalate: ROUTE' and 'default: reject'")
    step: Remind | Escalate | Default = Remind()
    if "remind" in parts and not parts["remind"].flag():
        parts["remind"].fault("must be true; remove the rung if nobody is to be reminded")
    if "escalate" in parts:
        step = Escalate(route=routes.read(parts["escalate"]))
    if "default" in parts:
        step = Default(kind=parts["default"].choice(DefaultKind, DefaultKind.EXPIRE))
    return Rung(after=after, step=step)


def _check_auto_allow(parts: Mapping[str, Spot], ladder: tuple[Rung, ...], *, accepts: bool) -> None:
    allows = any(isinstance(rung.step, Default) and rung.step.kind is DefaultKind.ALLOW for rung in ladder)
    if allows and not accepts:
        parts["ladder"].fault(
            "'default: allow' runs what nobody approved; use reject or expire, or add 'i_accept_auto_allow: true' "
            "to the rule"
        )
    if accepts and not allows:
        parts["i_accept_auto_allow"].fault("nothing in this rule allows by itself; remove it")


# --- the card -------------------------------------------------------------------------------------


def _fields(spot: Spot) -> dict[str, FieldRule]:
    fields = {}
    for name, entry in spot.entries():
        parts = entry.fields(["label", "secret", "edit"])
        fields[name] = FieldRule(
            label=parts["label"].text(most=MAX_LABEL) if "label" in parts else None,
            secret="secret" in parts and parts["secret"].flag(),
            edit="edit" not in parts or parts["edit"].flag(),
        )
    return fields


def _none_ok(spot: Spot) -> bool:
    if spot.plain() == "none_ok":
        return True
    spot.fault("must be none_ok, or be left out")
    return False


def _reasons(spot: Spot) -> tuple[str, ...]:
    reasons: list[str] = []
    for entry in spot.items(most=50):
        reason = entry.text(most=MAX_REASON)
        if reason in reasons:
            entry.fault(f"{reason!r} stands here twice; keep one")
        reasons.append(reason)
    return tuple(reasons)
