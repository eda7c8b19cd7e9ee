"""Pauses, leases and effects over HTTP, on both databases."""

import json
import threading
import time
from datetime import timedelta
from typing import Any

import httpx
import pytest

from seconder.desk import decide
from seconder.desk.decide import Approve
from seconder.desk.desk import Desk
from tests.support.api import a_door, action_of, call_of, error_of, exact, pause_of
from tests.support.desk import ALICE, a_desk, press_on, push_clock

STATES: list[Any] = [
    {"messages": [{"role": "user", "content": "grüezi 👋"}], "n": 2**80, "price": 0.1, "nothing": None},
    "",
    0,
    None,
    [],
    {"half": "\ud83d"},
    {"$int": "12"},
]


def decided(desk: Desk, door: httpx.Client, **more: Any) -> dict[str, Any]:
    """A pause whose one call a person approved."""
    pause: dict[str, Any] = door.post("/v1/pauses", json=pause_of(**more)).json()
    for review in pause["reviews"]:
        decide.decide(desk, press_on(desk, review["id"], ALICE), Approve())
    return pause


def claim(door: httpx.Client, **more: Any) -> Any:
    answer = door.post("/v1/pauses/claim", json={"agents": ["shop"], "worker": "w1", **more})
    assert answer.status_code == 200
    return exact(answer)["claim"]


def test_a_pause_goes_from_waiting_to_finished(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        made = door.post("/v1/pauses", json=pause_of())
        path = f"/v1/pauses/{made.json()['id']}"
        nothing = claim(door)
        review = made.json()["reviews"][0]
        decide.decide(desk, press_on(desk, review["id"], ALICE), Approve())
        ready_now = door.get(path, params={"wait": 5}).json()
        claimed = claim(door)
        fence = claimed["fence"]
        beat = door.post(f"{path}/heartbeat", json={"fence": fence})
        call = {"pause_id": made.json()["id"], "fence": fence, "review_id": review["id"], "digest": review["digest"]}
        started = door.post("/v1/effects/start", json=call).json()
        ending = {"effect_id": started["effect_id"], "pause_id": call["pause_id"], "fence": fence}
        ended = door.post("/v1/effects/end", json={**ending, "status": "succeeded", "result": {"ok": True}})
        again = door.post("/v1/effects/start", json=call).json()
        finish = {"fence": fence, "outcome": "finished", "final_output": "Refunded."}
        finished, repeated = (door.post(f"{path}/finish", json=finish) for _ in range(2))

        assert made.status_code == 201
        assert (made.json()["state"], made.json()["run"], nothing) == ("waiting", "run-1", None)
        assert ready_now["state"] == "ready"
        assert (claimed["pause"]["run_state"], claimed["lease_seconds"]) == ({"here": 1}, 10)
        assert claimed["reviews"][0]["decision"]["kind"] == "approved"
        assert beat.json() == {"lease_seconds": 10}
        assert (started["verdict"], started["arguments"]) == ("run", {"amount": 240, "order": "O-991"})
        assert (ended.status_code, ended.json()) == (200, {})
        assert (again["verdict"], again["result"], again["key"]) == ("done", {"ok": True}, started["key"])
        assert finished.json()["outcome"] == {
            "kind": "finished",
            "final_output": "Refunded.",
            "error": None,
            "next_pause": None,
        }
        assert repeated.json() == finished.json()
        assert finished.json()["reviews"][0]["outcome"]["status"] == "succeeded"


@pytest.mark.parametrize("state", STATES, ids=[str(index) for index in range(len(STATES))])
def test_a_run_state_comes_back_exactly(database_url: str, state: Any) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        made = door.post("/v1/pauses", content=json.dumps(pause_of(action_of("look_up"), state=state)))
        claimed = claim(door)

        assert made.status_code == 201
        assert claimed["pause"]["run_state"] == state


def test_a_submitted_pause_is_known_again_by_its_key(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        key = {"Idempotency-Key": "one"}
        first, again = (door.post("/v1/pauses", json=pause_of(), headers=key) for _ in range(2))
        other = door.post("/v1/pauses", json=pause_of(run="run-2"), headers=key)

        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json() == again.json()
        assert error_of(other) == (409, "idempotency_conflict")


def test_a_worker_that_lost_its_lease_can_do_nothing(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        pause = decided(desk, door)
        path, review = f"/v1/pauses/{pause['id']}", pause["reviews"][0]
        old = claim(door)["fence"]
        push_clock(desk, timedelta(seconds=11))
        new = claim(door, worker="w2")["fence"]
        call = {"pause_id": pause["id"], "fence": old, "review_id": review["id"], "digest": review["digest"]}
        refused = [
            door.post(f"{path}/heartbeat", json={"fence": old}),
            door.post(f"{path}/finish", json={"fence": old, "outcome": "finished"}),
            door.post("/v1/effects/start", json=call),
        ]

        assert new > old
        assert [error_of(answer) for answer in refused] == [(409, "lease_lost")] * 3


def test_a_call_that_started_and_never_ended_is_uncertain_under_the_same_lease(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        pause = decided(desk, door)
        review, fence = pause["reviews"][0], claim(door)["fence"]
        call = {"pause_id": pause["id"], "fence": fence, "review_id": review["id"], "digest": review["digest"]}
        door.post("/v1/effects/start", json=call)
        again = door.post("/v1/effects/start", json=call)
        other = door.post("/v1/effects/start", json={**call, "digest": "sha256:" + "0" * 64})

        assert error_of(again) == (409, "uncertain")
        assert error_of(other) == (409, "digest_mismatch")


def test_an_agent_neither_sees_nor_claims_another_agents_pauses(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door, a_door(desk, "mail") as other:
        pause = decided(desk, door)
        path = f"/v1/pauses/{pause['id']}"
        theirs = other.post("/v1/pauses/claim", json={"agents": ["mail"], "worker": "w", "pause_id": pause["id"]})
        refused = [
            other.get(path),
            other.post("/v1/pauses/claim", json={"agents": ["shop"], "worker": "w"}),
            other.post(f"{path}/heartbeat", json={"fence": 1}),
            other.post(f"{path}/finish", json={"fence": 1, "outcome": "finished"}),
        ]

        assert theirs.json() == {"claim": None}
        assert [error_of(answer) for answer in refused] == [(404, "not_found")] * 4


def test_a_pause_may_be_followed_by_the_next_in_the_same_commit(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        pause = decided(desk, door)
        path, fence = f"/v1/pauses/{pause['id']}", claim(door)["fence"]
        lonely = door.post(f"{path}/finish", json={"fence": fence, "outcome": "paused_again"})
        following = pause_of(call_of(call_id="call_2"))
        answer = door.post(f"{path}/finish", json={"fence": fence, "outcome": "paused_again", "next_pause": following})
        after = door.get(f"/v1/pauses/{answer.json()['outcome']['next_pause']}").json()

        assert error_of(lonely) == (422, "invalid")
        assert answer.json()["outcome"]["kind"] == "paused_again"
        assert (after["state"], after["run"], after["reviews"][0]["call_id"]) == ("waiting", "run-1", "call_2")


def test_what_a_tool_said_is_kept_even_where_it_is_not_unicode(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        pause = decided(desk, door)
        review, fence = pause["reviews"][0], claim(door)["fence"]
        call = {"pause_id": pause["id"], "fence": fence, "review_id": review["id"], "digest": review["digest"]}
        effect = door.post("/v1/effects/start", json=call).json()["effect_id"]
        error = "x" * 30_000 + "\x00"
        ending = {"effect_id": effect, "pause_id": pause["id"], "fence": fence, "status": "failed"}
        said = json.dumps({**ending, "result": "half \ud83d", "error": error})
        answer = door.post("/v1/effects/end", content=said)
        outcome = door.get(f"/v1/reviews/{review['id']}").json()["outcome"]

        assert answer.status_code == 200
        assert (outcome["status"], outcome["result"], outcome["error"]) == ("failed", "half ?", "x" * 20_000)


def test_a_waiting_claim_gets_the_pause_as_soon_as_it_is_decided(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        pause = door.post("/v1/pauses", json=pause_of()).json()
        press = press_on(desk, pause["reviews"][0]["id"], ALICE)
        timer = threading.Timer(0.3, lambda: decide.decide(desk, press, Approve()))
        timer.start()
        began = time.monotonic()
        claimed = claim(door, wait=20)
        timer.join()

        assert claimed["pause"]["id"] == pause["id"]
        assert time.monotonic() - began < 5


def test_a_claim_whose_caller_hung_up_takes_nothing(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        pause = door.post("/v1/pauses", json=pause_of()).json()
        with pytest.raises(httpx.ReadTimeout):
            door.post("/v1/pauses/claim", json={"agents": ["shop"], "worker": "w", "wait": 30}, timeout=0.5)
        time.sleep(0.2)
        decide.decide(desk, press_on(desk, pause["reviews"][0]["id"], ALICE), Approve())
        time.sleep(0.3)
        claimed = claim(door)

        assert (claimed["pause"]["id"], claimed["fence"]) == (pause["id"], 1)
