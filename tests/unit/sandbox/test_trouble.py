"""Rate limits, planned faults, restarts and the doors that stay shut."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from tests.support.sandbox import Door, Hand, eventually, running


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[Hand]:
    with running(tmp_path / "w.db") as (_, hand):
        yield hand


def test_a_fourth_post_within_a_second_has_to_wait(tmp_path: Path) -> None:
    with running(tmp_path / "w.db", rates=True, clock=lambda: 1_800_000_000.0) as (_, hand):
        answers = [hand.raw("chat.postMessage", channel="C01REFUNDS", text="x") for _ in range(4)]
        elsewhere = hand.raw("chat.postMessage", channel="C03MAIL", text="x")

        assert [a.status_code for a in answers] == [200, 200, 200, 429]
        assert answers[-1].headers["retry-after"] == "1"
        assert answers[-1].json() == {"ok": False, "error": "ratelimited"}
        assert elsewhere.status_code == 200


def test_the_tier_of_a_method_is_kept_until_it_is_switched_off(tmp_path: Path) -> None:
    with running(tmp_path / "w.db", rates=True, clock=lambda: 1_800_000_000.0) as (_, hand):
        statuses = [hand.raw("usergroups.list").status_code for _ in range(21)]
        hand.do("rates", enabled=False)

        assert statuses == [200] * 20 + [429]
        assert hand.raw("usergroups.list").status_code == 200


def test_planned_faults_come_as_often_as_planned(hand: Hand) -> None:
    hand.do("faults", method="chat.postMessage", kind="429", times=2, retry_after=7)
    hand.do("faults", method="chat.postMessage", kind="500")

    answers = [hand.raw("chat.postMessage", channel="C01REFUNDS", text="x") for _ in range(4)]

    assert [a.status_code for a in answers] == [429, 429, 500, 200]
    assert answers[0].headers["retry-after"] == "7"
    assert len(hand.see("messages", channel="refunds")) == 1


def test_a_dropped_call_did_nothing(hand: Hand) -> None:
    hand.do("faults", method="chat.postMessage", kind="drop")

    with pytest.raises(httpx.RemoteProtocolError):
        hand.raw("chat.postMessage", channel="C01REFUNDS", text="x")

    assert hand.see("messages", channel="refunds") == []


def test_a_call_that_times_out_has_posted_all_the_same(hand: Hand) -> None:
    hand.do("faults", method="chat.postMessage", kind="timeout_after")

    with pytest.raises(httpx.ReadTimeout):
        httpx.post(
            f"{hand.url}/api/chat.postMessage",
            json={"channel": "C01REFUNDS", "text": "x"},
            headers={"Authorization": "Bearer xoxb-sandbox"},
            timeout=0.3,
        )

    assert len(hand.see("messages", channel="refunds")) == 1


def test_a_press_while_the_app_is_away_fails_and_is_not_kept(hand: Hand) -> None:
    button = {"type": "button", "action_id": "a", "text": {"type": "plain_text", "text": "Go"}}
    blocks = [{"type": "actions", "elements": [button]}]
    ts = hand.api("chat.postMessage", channel="C01REFUNDS", text="x", blocks=blocks)["ts"]

    told = hand.do("press", user="alice", channel="refunds", ts=ts, action_id="a")

    assert told == {"acked": False, "status": 0, "error": "not_connected"}


def test_a_button_of_an_earlier_version_can_still_be_pressed_by_a_slow_hand(tmp_path: Path) -> None:
    door = Door()
    with running(tmp_path / "w.db", mode="http", request_url=door.url) as (_, hand):
        button = {"type": "button", "action_id": "a", "value": "old", "text": {"type": "plain_text", "text": "Go"}}
        blocks = [{"type": "actions", "elements": [button]}]
        ts = hand.api("chat.postMessage", channel="C01REFUNDS", text="x", blocks=blocks)["ts"]
        hand.api("chat.update", channel="C01REFUNDS", ts=ts, text="done")

        now = hand.do("press", user="alice", channel="refunds", ts=ts, action_id="a")
        late = hand.do("press", user="alice", channel="refunds", ts=ts, action_id="a", stale=True)

        assert now["error"] == "no_such_action"
        assert late["error"] == "http_500"
        sent = [e for e in hand.see("log") if e["kind"] == "delivery"]
        assert sent[-1]["payload"]["actions"][0]["value"] == "old"
    door.close()


def test_an_event_that_was_refused_is_sent_again_with_its_number(tmp_path: Path) -> None:
    door = Door()
    with running(tmp_path / "w.db", mode="http", request_url=door.url) as (_, hand):
        hand.do("post", user="riley", channel="refunds", text="Hello")

        again = eventually(lambda: [h for h in door.seen if "x-slack-retry-num" in h])
        assert (again[0]["x-slack-retry-num"], again[0]["x-slack-retry-reason"]) == ("1", "http_error")
    door.close()


def test_a_response_url_works_five_times(tmp_path: Path) -> None:
    with running(tmp_path / "w.db") as (sandbox, hand):
        handles = sandbox.acts.handles
        ts = hand.api("chat.postMessage", channel="C01REFUNDS", text="x")["ts"]
        url = f"/response/{handles.response_token('C01REFUNDS', 'U02ALICE', ts=ts, private=False)}"

        statuses = [hand.post_url(url, text="psst").status_code for _ in range(6)]

        assert statuses == [200] * 5 + [404]
        assert len(hand.see("ephemerals", user="alice")) == 5


def test_a_response_url_is_dead_after_half_an_hour(tmp_path: Path) -> None:
    times = [1_800_000_000.0]
    with running(tmp_path / "w.db", clock=lambda: times[0]) as (sandbox, hand):
        token = sandbox.acts.handles.response_token("C01REFUNDS", "U02ALICE", ts=None, private=True)
        times[0] += 1801

        assert hand.post_url(f"/response/{token}", text="late").json()["error"] == "expired_url"


def test_the_workspace_is_the_same_after_a_restart(tmp_path: Path) -> None:
    with running(tmp_path / "w.db") as (_, hand):
        ts = hand.api("chat.postMessage", channel="#refunds", text="kept")["ts"]
        hand.do("people", user="olga", group="finance", member=True)

    with running(tmp_path / "w.db") as (_, hand):
        [message] = hand.see("messages", channel="refunds")

        assert (message["ts"], message["text"]) == (ts, "kept")
        assert "U06OLGA" in hand.api("usergroups.users.list", usergroup="S0FINANCE")["users"]
        assert hand.api("chat.update", channel="C01REFUNDS", ts=ts, text="changed")["ok"]


def test_time_moves_only_where_there_is_something_to_move(tmp_path: Path, hand: Hand) -> None:
    moved: list[timedelta] = []

    assert hand.do("advance", seconds=1800)["error"] == "nothing_to_advance"
    with running(tmp_path / "other.db", advance=moved.append) as (_, other):
        before = other.see("status")["now"]
        other.do("advance", seconds=1800)

        assert moved == [timedelta(minutes=30)]
        assert other.see("status")["now"] - before >= 1800


@pytest.mark.parametrize(
    "headers", [{"Host": "workspace.example"}, {"Origin": "https://workspace.example"}], ids=["host", "origin"]
)
def test_a_foreign_page_cannot_act_here(hand: Hand, headers: dict[str, str]) -> None:
    body = {"user": "alice", "channel": "refunds", "text": "x"}

    answer = httpx.post(f"{hand.url}/control/post", json=body, headers=headers)

    assert answer.status_code == 403
    assert hand.see("messages", channel="refunds") == []


def test_a_deactivated_person_can_do_nothing(hand: Hand) -> None:
    hand.do("people", user="bob", deleted=True)

    assert hand.do("post", user="bob", channel="refunds", text="x")["error"] == "account_inactive"
    assert hand.api("users.info", user="U03BOB")["user"]["deleted"] is True


def test_a_deleted_root_with_replies_leaves_a_tombstone(hand: Hand) -> None:
    ts = hand.api("chat.postMessage", channel="C01REFUNDS", text="root")["ts"]
    hand.do("post", user="riley", channel="refunds", text="reply", thread_ts=ts)

    hand.api("chat.delete", channel="C01REFUNDS", ts=ts)

    [stone] = hand.api("conversations.history", channel="C01REFUNDS")["messages"]
    assert stone["subtype"] == "tombstone"
    assert hand.see("messages", channel="refunds") == []
