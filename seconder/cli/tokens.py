"""`seconder tokens`: what agents and workers sign in with."""

import os
from typing import Annotated

import typer

from seconder.cli.opening import desk
from seconder.cli.show import AsJson, emit, facts, say, table, when

program = typer.Typer(help="What agents and workers sign in with.", no_args_is_help=True)


@program.command()
def create(
    agent: Annotated[str, typer.Option("--agent", help="The agent's name; the token is good for this one only.")],
    as_json: AsJson = False,
) -> None:
    """Make a token and print it, once."""
    from seconder.desk import tokens

    with desk() as opened:
        made = tokens.create(opened, agent, random=os.urandom)
    if as_json:
        emit({"token": made.secret, "webhook_secret": made.webhook_secret, "agent": made.token.agent})
        return
    facts([("agent", agent), ("id", made.token.id), ("token", made.secret), ("webhook secret", made.webhook_secret)])
    say("keep both secrets now, they are not shown again; the agent reads its token from SECONDER_TOKEN")


@program.command("list")
def list_tokens(as_json: AsJson = False) -> None:
    """Show all tokens, oldest first; never their secrets."""
    from seconder.desk import people, tokens
    from seconder.desk.wire import iso

    with desk() as opened:
        found, now = tokens.listed(opened), people.now(opened)
    if as_json:
        stamps = ((token, iso(token.created_at), iso(token.revoked_at)) for token in found)
        emit([{"id": t.id, "agent": t.agent, "created_at": made, "revoked_at": over} for t, made, over in stamps])
        return
    rows = [(t.id, t.agent, when(t.created_at, now), when(t.revoked_at, now) or "valid") for t in found]
    table(("id", "agent", "made", "revoked"), rows, empty="No tokens yet: `seconder tokens create --agent NAME`.")


@program.command()
def revoke(
    token: Annotated[str, typer.Argument(help="The token's id, as `seconder tokens list` shows it.", metavar="ID")],
    as_json: AsJson = False,
) -> None:
    """Refuse a token from now on."""
    from seconder.desk import tokens

    with desk() as opened:
        tokens.revoke(opened, token)
    if as_json:
        emit({"id": token, "revoked": True})
    else:
        print(f"{token} is revoked")
