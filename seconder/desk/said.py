"""Values as the JSON of the outside: reviews, pauses, claims, effects."""

from seconder.action import Action, Json
from seconder.decision import Answered, Approved, Decision, Edited, Rejected, TakenOver, kind_of
from seconder.desk.effects import Started
from seconder.desk.wire import iso, state_json
from seconder.review import Interrupt, Pause, Review, Status


def review_json(review: Review, run: str | None = None) -> dict[str, Json]:
    """A review as in `GET /v1/reviews/{id}`; `run` is the run's own name."""
    interrupt, verdict = review.interrupt, review.verdict
    return {
        "id": review.id,
        "status": review.status.value,
        "delivery": review.delivery.value,
        "revision": review.revision,
        "kind": interrupt.kind.value,
        "agent": {"name": interrupt.agent.name, "version": interrupt.agent.version},
        **_asked(interrupt),
        "digest": review.digest,
        "call_id": interrupt.call_id,
        "session": interrupt.session,
        "environment": interrupt.environment,
        "reason": interrupt.reason,
        "requester": _requester(review),
        "verdict": {
            "verdict": verdict.kind.value,
            "rule": verdict.rule,
            "because": verdict.because,
            "policy": verdict.source,
        },
        "created_at": iso(review.created_at),
        "deadline": iso(review.deadline),
        "votes": [{"person": vote.person, "at": iso(vote.at)} for vote in review.votes if vote.digest == review.digest],
        "decision": None if review.decision is None else decision_json(review, review.decision),
        "outcome": _outcome(review),
        "consumed": review.consumed,
        "undecidable": review.undecidable if review.status is Status.PENDING else None,
        "pause_id": review.pause_id,
        "run": run,
    }


def decision_json(review: Review, decision: Decision) -> dict[str, Json]:
    """A decision with all its fields; those of other kinds are null."""
    said: dict[str, Json] = dict.fromkeys(("arguments", "digest", "reason", "answer", "result"))
    match decision:
        case Approved():
            said |= _run_of(review.action)
        case Edited(action=action):
            said |= _run_of(action)
        case Rejected(reason=reason):
            said["reason"] = reason
        case Answered(answer=answer):
            said["answer"] = answer
        case TakenOver(result=result):
            said["result"] = result
    if review.interrupt.state is not None and said["arguments"] is not None:
        said["arguments"] = said["arguments"]["state"]
    by, source = list(decision.by), decision.source.value
    return {"kind": kind_of(decision), **said, "by": by, "source": source, "at": iso(decision.at)}


def pause_json(pause: Pause, run: str, *, with_state: bool = False) -> dict[str, Json]:
    """A pause as in `GET /v1/pauses/{id}`."""
    outcome = None
    if pause.outcome is not None:
        outcome = {
            "kind": pause.outcome.value,
            "final_output": pause.final_output,
            "error": pause.error,
            "next_pause": pause.next_pause_id,
        }
    said: dict[str, Json] = {
        "id": pause.id,
        "run": run,
        "agent": {"name": pause.agent.name, "version": pause.agent.version},
        "framework": pause.framework,
        "framework_version": pause.framework_version,
        "state": pause.state.value,
        "created_at": iso(pause.created_at),
        "attempts": pause.attempts,
        "outcome": outcome,
        "reviews": [review_json(review, run) for review in pause.reviews],
    }
    if with_state:
        said["run_state"] = None if pause.run_state is None else state_json(pause.run_state)
    return said


def claim_json(pause: Pause, run: str, lease_seconds: float) -> dict[str, Json]:
    """A claim: the pause with its run state, its reviews, and the fence of the lease.

    Questions about uncertain effects are not the run's: they are left out.
    """
    said = pause_json(pause, run, with_state=True)
    del said["reviews"]
    reviews = [review_json(review, run) for review in pause.reviews if review.effect_id is None]
    return {"pause": said, "reviews": reviews, "fence": pause.fence, "lease_seconds": lease_seconds}


def effect_json(started: Started) -> dict[str, Json]:
    return {
        "verdict": started.verdict,
        "effect_id": started.effect_id,
        "key": started.key,
        "arguments": dict(started.action.arguments),
        "result": started.result,
        "error": started.error,
    }


def consumed_json(started: Started) -> dict[str, Json]:
    """What an agent may run, once."""
    action = started.action
    return {"arguments": dict(action.arguments), "digest": action.digest, "idempotency_key": started.key}


def _asked(interrupt: Interrupt) -> dict[str, Json]:
    action, question, state = interrupt.action, interrupt.question, interrupt.state
    return {
        "action": None if action is None else _action(action),
        "question": None
        if question is None
        else {"prompt": question.prompt, "options": list(question.options), "answer_schema": question.answer_schema},
        "state": None if state is None else {"value": state.value, "schema": state.schema},
    }


def _action(action: Action) -> dict[str, Json]:
    return {
        "tool": action.tool,
        "arguments": dict(action.arguments),
        "arguments_schema": action.schema,
        "summary": action.summary,
    }


def _run_of(action: Action | None) -> dict[str, Json]:
    return {} if action is None else {"arguments": dict(action.arguments), "digest": action.digest}


def _requester(review: Review) -> Json:
    requester = review.interrupt.requester
    if requester is None:
        return None
    user = review.requester_user or requester.slack_user
    return {"slack_user": user, "email": requester.email, "name": requester.name}


def _outcome(review: Review) -> Json:
    outcome = review.outcome
    if outcome is None:
        return None
    return {"status": outcome.status.value, "result": outcome.result, "error": outcome.error, "at": iso(outcome.at)}
