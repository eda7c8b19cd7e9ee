"""The doctor's checks, in the order in which one needs the other."""

import os
from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from pathlib import Path

from seconder import app
from seconder.bot.checks import Check, Wanted, check_slack
from seconder.cli import opening
from seconder.decision import Escalate
from seconder.desk import look, tokens, upkeep
from seconder.desk.desk import Desk
from seconder.errors import ConfigurationError, KeyMissing, PolicyInvalid, SeconderError
from seconder.policies import Policy
from seconder.policies.check import shadowed
from seconder.settings import Settings, read, unknown


def checks() -> Iterator[Check]:
    """Each check as it is made."""
    for name in unknown(os.environ):
        fix = "correct its name, or unset it: nothing reads it"
        yield Check(name=name, good=None, says="is set, and Seconder has no such variable", fix=fix)
    try:
        settings = read(os.environ, Path.cwd())
    except ConfigurationError as error:
        for fault in str(error).splitlines():
            yield Check(name="Settings", good=False, says=fault, fix="set the variable, or unset it")
        return
    settings = opening.settings()
    yield from _database(settings)
    policy = yield from _policy(settings)
    yield from _slack(settings, policy)


def _database(settings: Settings) -> Iterator[Check]:
    try:
        condition = upkeep.check(settings)
    except SeconderError as error:
        yield Check(name="Database", good=False, says=str(error), fix="correct SECONDER_DATABASE_URL, or start it")
        return
    if condition.pending:
        says = f"{settings.database} lacks {', '.join(condition.pending)}"
        yield Check(name="Database", good=False, says=says, fix="run `seconder db upgrade`")
        return
    if condition.broken:
        fix = "stop everything and go back to a backup"
        yield Check(name="Database", good=False, says="; ".join(condition.broken), fix=fix)
        return
    yield Check(name="Database", good=True, says=f"{settings.database} is up to date")
    try:
        with opening.desk(settings) as desk:
            yield from _opened(settings, desk)
    except (ConfigurationError, KeyMissing) as error:
        fix = "put the key that the rows were sealed with into SECONDER_KEYS, behind the newest"
        yield Check(name="Keys", good=False, says=str(error), fix=fix)


def _opened(settings: Settings, desk: Desk) -> Iterator[Check]:
    opened, stale = upkeep.sealed(desk)
    if stale:
        fix = "run `seconder keys rotate` before you take the old keys out of SECONDER_KEYS"
        yield Check(name="Keys", good=None, says=f"{stale:,} rows are sealed with older keys", fix=fix)
    else:
        says = f"open what is stored ({opened} tables looked at)" if opened else "nothing is stored yet"
        yield Check(name="Keys", good=True, says=says)
    offset = upkeep.offset(desk)
    if offset and settings.demo is None:
        fix = "use another database: this one belongs to a sandbox or a test"
        yield Check(name="Database clock", good=False, says=f"was pushed by {offset}", fix=fix)
    dead = look.queued(desk, state="dead")
    if dead:
        fix = "see `seconder queue list --state dead`, then retry or drop them"
        yield Check(name="Queue", good=None, says=f"{len(dead)} items were given up", fix=fix)
    if settings.demo is None and not any(token.revoked_at is None for token in tokens.listed(desk)):
        fix = "run `seconder tokens create --agent NAME` for agents that come over HTTP"
        yield Check(name="Tokens", good=None, says="no agent has one", fix=fix)


def _policy(settings: Settings) -> Generator[Check, None, Policy | None]:
    try:
        policy = app.load_policy(settings)
    except PolicyInvalid as error:
        for fault in error.faults:
            says, fix = f"{fault.path}: {fault.message}", "correct it there; `seconder policy check` looks again"
            yield Check(name="Policy", good=False, says=says, fix=fix)
        return None
    except ConfigurationError as error:
        yield Check(name="Policy", good=False, says=str(error), fix="set SECONDER_POLICY")
        return None
    yield Check(name="Policy", good=True, says=f"{len(policy.rules)} rules and {len(policy.roles)} roles are read")
    for fault in shadowed(policy):
        yield Check(name="Policy", good=None, says=f"{fault.path}: {fault.message}", fix="move or remove the rule")
    return policy


def _slack(settings: Settings, policy: Policy | None) -> Iterator[Check]:
    if settings.slack_bot_token is None:
        fix = "create the app from manifest.yml, install it, and set its bot token"
        yield Check(name="Slack bot token", good=False, says="SLACK_BOT_TOKEN is not set", fix=fix)
        return
    if settings.slack_app_token is None and settings.slack_signing_secret is None:
        fix = "set SLACK_APP_TOKEN for Socket Mode, or SLACK_SIGNING_SECRET for HTTP at /slack/events"
        yield Check(name="Slack presses", good=False, says="nothing says how Slack reaches us", fix=fix)
    wanted = _wanted(policy)
    yield from check_slack(
        settings.slack_bot_token, settings.slack_app_token, settings.slack_api_url, wanted, datetime.now(UTC)
    )


def _wanted(policy: Policy | None) -> Wanted:
    if policy is None:
        return Wanted(channels=(), groups=(), users=())
    routes = [policy.fallback, *(rule.route for rule in policy.rules if rule.route is not None)]
    routes += [rung.step.route for rule in policy.rules for rung in rule.ladder if isinstance(rung.step, Escalate)]
    return Wanted(
        channels=tuple(dict.fromkeys(route.channel for route in routes)),
        groups=tuple(sorted({group for role in policy.roles.values() for group in role.user_groups})),
        users=tuple(sorted({user for role in policy.roles.values() for user in role.users})),
    )
