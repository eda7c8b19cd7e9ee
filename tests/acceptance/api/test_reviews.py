"""Reviews over HTTP, on both databases."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import httpx
import pytest

from seconder.api.app import build_api
from seconder.desk import climb, decide, look, tokens
from seconder.desk.decide import Approve, Edit, Reject
from tests.support.api import a_door, action_of, bearer, call_of, error_of, exact, ready, secret_of, served
from tests.support.desk import ALICE, a_desk, press_on, push_clock


def test_a_review_is_created_whatever_the_verdict(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        answers = [
            door.post("/v1/reviews", json=action_of(tool)) for tool in ("issue_refund", "look_up", "delete_account")
        ]

        assert [answer.status_code for answer in answers] == [201, 201, 201]
        assert [answer.json()["status"] for answer in answers] == ["pending", "allowed", "denied"]
        assert [answer.json()["verdict"]["verdict"] for answer in answers] == ["ask", "allow", "deny"]


def test_the_same_key_and_body_give_the_same_review_and_another_body_is_refused(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        key = {"Idempotency-Key": "k" * 255}
        first = door.post("/v1/reviews", json=call_of(240), headers=key)
        again = door.post("/v1/reviews", json=dict(reversed(call_of(240).items())), headers=key)
        other = door.post("/v1/reviews", json=call_of(241), headers=key)
        without = door.post("/v1/reviews", json=call_of(240))
        long = door.post("/v1/reviews", json=call_of(240), headers={"Idempotency-Key": "k" * 256})

        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json() == first.json()
        assert error_of(other) == (409, "idempotency_conflict")
        assert without.json()["id"] != first.json()["id"]
        assert error_of(long) == (422, "invalid")


def test_the_same_key_sent_twenty_times_at_once_makes_one_review(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door, ThreadPoolExecutor(20) as pool:

        def submit(_: int) -> Any:
            return door.post("/v1/reviews", json=call_of(), headers={"Idempotency-Key": "once"})

        answers = list(pool.map(submit, range(20)))

        assert sorted(answer.status_code for answer in answers) == [200] * 19 + [201]
        assert len({answer.json()["id"] for answer in answers}) == 1


def test_an_agent_sees_nothing_of_another_agents_reviews(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door, a_door(desk, "mail") as other:
        ident = door.post("/v1/reviews", json=call_of()).json()["id"]
        path = f"/v1/reviews/{ident}"
        refused = [
            other.get(path),
            other.get(f"{path}?wait=1"),
            other.delete(path),
            other.post(f"{path}/consume"),
            other.post(f"{path}/outcome", json={"status": "succeeded"}),
        ]

        assert [error_of(answer) for answer in refused] == [(404, "not_found")] * 5
        assert other.get("/v1/reviews").json() == {"reviews": [], "cursor": None}
        assert error_of(other.post("/v1/reviews", json=call_of())) == (422, "invalid")


def test_pages_go_through_all_reviews_newest_first_without_repeating_one(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        made = [door.post("/v1/reviews", json=action_of("look_up")).json()["id"] for _ in range(7)]
        door.post("/v1/reviews", json=call_of())
        seen, cursor = [], None
        while True:
            params = {"limit": "3", "status": "allowed", **({"cursor": cursor} if cursor else {})}
            page = door.get("/v1/reviews", params=params).json()
            seen.append([review["id"] for review in page["reviews"]])
            cursor = page["cursor"]
            if cursor is None:
                break

        assert [len(ids) for ids in seen] == [3, 3, 1]
        assert sorted(ident for ids in seen for ident in ids) == sorted(made)


QUERIES = ("limit=0", "limit=201", "limit=x", "status=gone", "cursor=x", f"cursor={'9' * 20}-rv_1", "cursor=1-%00")


def test_a_wrong_query_is_refused_by_field(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        for query in QUERIES:
            answer = door.get(f"/v1/reviews?{query}")

            assert error_of(answer) == (422, "invalid")
            assert [field["path"] for field in answer.json()["error"]["fields"]] == [query.partition("=")[0]]


def test_a_pending_review_is_cancelled_once_and_again_changes_nothing(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        path = f"/v1/reviews/{door.post('/v1/reviews', json=call_of()).json()['id']}"
        first, again = door.delete(path), door.delete(path)
        decided = door.post("/v1/reviews", json=action_of("look_up")).json()["id"]

        assert (first.status_code, first.json()["status"]) == (200, "cancelled")
        assert again.json() == first.json()
        assert error_of(door.delete(f"/v1/reviews/{decided}")) == (409, "already_decided")
        assert error_of(door.post(f"{path}/consume")) == (409, "cancelled")


def test_an_edited_decision_is_consumed_once_with_the_edited_arguments(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        ident = door.post("/v1/reviews", json=call_of(240)).json()["id"]
        early = door.post(f"/v1/reviews/{ident}/consume")
        too_early = door.post(f"/v1/reviews/{ident}/outcome", json={"status": "succeeded"})
        decide.decide(desk, press_on(desk, ident, ALICE), Edit({"amount": 120, "order": "O-991"}))
        unconsumed = door.post(f"/v1/reviews/{ident}/outcome", json={"status": "succeeded"})
        first, again = (door.post(f"/v1/reviews/{ident}/consume") for _ in range(2))
        review = door.get(f"/v1/reviews/{ident}").json()

        assert error_of(early) == (409, "pending")
        assert error_of(too_early) == (409, "pending")
        assert error_of(unconsumed) == (409, "not_consumed")
        assert first.json()["arguments"] == {"amount": 120, "order": "O-991"}
        assert first.json()["digest"] == review["decision"]["digest"] != review["digest"]
        assert error_of(again) == (409, "already_consumed")
        assert (review["status"], review["decision"]["kind"], review["consumed"]) == ("decided", "edited", True)
        assert review["decision"]["by"] == [ALICE]


def test_an_outcome_is_told_once_and_another_one_is_a_conflict(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        path = f"/v1/reviews/{door.post('/v1/reviews', json=action_of('look_up')).json()['id']}"
        door.post(f"{path}/consume")
        body = {"status": "succeeded", "result": {"balance": 12345678901234567890}}
        first, again = (door.post(f"{path}/outcome", json=body) for _ in range(2))
        other = door.post(f"{path}/outcome", json={"status": "failed", "error": "no"})
        uncertain = door.post(f"{path}/outcome", json={"status": "uncertain"})

        assert (first.status_code, again.status_code) == (200, 200)
        assert exact(first)["outcome"]["result"] == {"balance": 12345678901234567890}
        assert error_of(other) == (409, "outcome_conflict")
        assert error_of(uncertain) == (422, "invalid")


@pytest.mark.parametrize(("how", "code"), [("reject", "rejected"), ("expire", "expired"), ("deny", "denied")])
def test_what_gives_nothing_to_run_says_why(database_url: str, how: str, code: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        tool = {"reject": "issue_refund", "expire": "wire", "deny": "delete_account"}[how]
        ident = door.post("/v1/reviews", json=action_of(tool)).json()["id"]
        if how == "reject":
            decide.decide(desk, press_on(desk, ident, ALICE), Reject("Outside the window"))
        if how == "expire":
            push_clock(desk, timedelta(hours=25))
            climb.climb(desk, ident)
        answer = door.post(f"/v1/reviews/{ident}/consume")

        assert error_of(answer) == (409, code)


def test_integers_beyond_a_float_come_back_exactly(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        big = {"id": 2**63 + 1, "list": [10**30, -(2**70)], "price": 0.1}
        made = exact(door.post("/v1/reviews", json=action_of("look_up", big)))
        consumed = exact(door.post(f"/v1/reviews/{made['id']}/consume"))

        assert made["action"]["arguments"] == big
        assert consumed["arguments"] == big


def test_a_long_poll_ends_at_its_time_with_the_pending_review(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        ident = door.post("/v1/reviews", json=call_of()).json()["id"]
        answer = door.get(f"/v1/reviews/{ident}?wait=0.2")

        assert (answer.status_code, answer.json()["status"]) == (200, "pending")
        assert answer.elapsed.total_seconds() >= 0.2


def test_a_wait_beyond_a_minute_is_refused(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        ident = door.post("/v1/reviews", json=call_of()).json()["id"]

        for wait in ("61", "-1", "nan", "inf", "soon"):
            assert error_of(door.get(f"/v1/reviews/{ident}?wait={wait}")) == (422, "invalid")


def test_a_hundred_long_polls_hold_no_threads_and_all_wake_at_the_decision(database_url: str) -> None:
    async def poll(base: str, ident: str, secret: str) -> list[tuple[str, float]]:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(base_url=base, headers=bearer(secret), limits=limits, timeout=30) as client:
            loop = asyncio.get_running_loop()

            async def one() -> tuple[str, float]:
                answer = await client.get(f"/v1/reviews/{ident}", params={"wait": 20})
                return answer.json()["status"], loop.time()

            polls = [asyncio.ensure_future(one()) for _ in range(100)]
            await asyncio.sleep(1.0)
            quick = await client.get("/healthz")
            assert quick.elapsed < timedelta(seconds=1)
            press = await asyncio.to_thread(press_on, desk, ident, ALICE)
            await asyncio.to_thread(decide.decide, desk, press, Approve())
            decided = loop.time()
            return [(status, at - decided) for status, at in await asyncio.gather(*polls)]

    with a_desk(database_url) as desk, served(build_api(desk, ready=ready, slack=None)) as base:
        secret = secret_of(desk)
        ident = httpx.post(f"{base}/v1/reviews", json=call_of(), headers=bearer(secret)).json()["id"]
        found = asyncio.run(poll(base, ident, secret))

        assert {status for status, _ in found} == {"decided"}
        assert max(late for _, late in found) < 5


def test_a_long_poll_wakes_within_milliseconds(database_url: str) -> None:
    async def latency(ident: str) -> float:
        loop = asyncio.get_running_loop()
        waiting = asyncio.ensure_future(look.wait(desk, lambda: look.named(desk, ident), look.settled_named, 10))
        await asyncio.sleep(0.3)
        await asyncio.to_thread(decide.decide, desk, press_on(desk, ident, ALICE), Approve())
        decided = loop.time()
        await waiting
        return loop.time() - decided

    with a_desk(database_url) as desk, a_door(desk) as door:
        late = []
        for _ in range(10):
            ident = door.post("/v1/reviews", json=call_of()).json()["id"]
            late.append(asyncio.run(latency(ident)))

        assert sorted(late)[5] < 0.1


def test_a_revoked_token_is_unknown(database_url: str) -> None:
    with a_desk(database_url) as desk, a_door(desk) as door:
        made = tokens.create(desk, "shop", random=os.urandom)
        before = door.get("/v1/reviews", headers=bearer(made.secret))
        tokens.revoke(desk, made.token.id)
        after = door.get("/v1/reviews", headers=bearer(made.secret))

        assert before.status_code == 200
        assert error_of(after) == (401, "unauthorized")
