"""Slack is answered in time, what comes after is done in its own threads, and its failures are heard of."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from slack_bolt import BoltRequest
from slack_sdk import WebClient
from structlog.testing import capture_logs

from seconder.bot import ids
from seconder.bot.bolt import THREADS
from seconder.review import Status
from seconder.store.tx import Tx
from tests.scenario.slack.latency import ACK_SECONDS, measured
from tests.support.bot import Bot, a_bot, button
from tests.support.desk import ALICE, OLGA, post_card, refund
from tests.support.sandbox import eventually


def test_every_kind_of_press_is_answered_in_time(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path, over="http", dispatching=False) as bot:
        took = measured(bot, 5)

    assert max(wait for waits in took.values() for wait in waits) < ACK_SECONDS


def test_replies_that_hang_hold_up_no_answer_and_have_all_threads(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, go = threading.Semaphore(0), threading.Event()

    def hang(*_: object, **__: object) -> None:
        waiting.release()
        go.wait(30)

    monkeypatch.setattr(WebClient, "chat_postEphemeral", hang)
    with a_bot(sqlite_url, tmp_path, over="http", dispatching=False) as bot:
        review = bot.submit(refund())
        post_card(bot.desk, review.id)
        [card] = bot.messages(review)

        begun = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            statuses = list(pool.map(lambda _: bot.send(button(OLGA, card, ids.APPROVE)).status_code, range(40)))
        took = time.monotonic() - begun
        at_once = sum(waiting.acquire(timeout=5) for _ in range(THREADS))
        more = waiting.acquire(timeout=0.2)
        go.set()

        assert statuses == [200] * 40
        assert (at_once, more) == (THREADS, False)
        assert took < 20
        assert bot.review(review).status is Status.PENDING


def test_what_fails_after_the_answer_is_logged(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr(WebClient, "views_open", fail)
    with capture_logs() as logs, a_bot(sqlite_url, tmp_path) as bot:
        _, card = bot.asked(refund())

        assert bot.press(ALICE, card, "Edit…")["acked"]
        eventually(lambda: [entry for entry in logs if entry["event"] == "bot.lazy_failed"])

    [entry] = [entry for entry in logs if entry["event"] == "bot.lazy_failed"]
    assert (entry["log_level"], entry["listener"]) == ("error", "show")


def test_where_the_database_fails_slack_is_not_acknowledged_and_nothing_comes_after(http_bot: Bot) -> None:
    review, card = http_bot.asked(refund())

    def break_trail(tx: Tx) -> None:
        tx.connection.exec_driver_sql("ALTER TABLE trail RENAME TO trail_away")

    with capture_logs() as logs:
        http_bot.desk.store.write(break_trail)
        answer = http_bot.press(ALICE, card, "Approve")
        http_bot.desk.store.write(lambda tx: tx.connection.exec_driver_sql("ALTER TABLE trail_away RENAME TO trail"))

    assert (answer["acked"], answer["status"]) == (False, 500)
    assert [entry["event"] for entry in logs] == ["bot.failed"]
    assert not http_bot.whispers(ALICE)
    assert http_bot.review(review).status is Status.PENDING
    assert http_bot.press(ALICE, card, "Approve")["acked"]


def test_what_a_listener_said_reaches_what_comes_after_as_it_was(one_bot: Bot) -> None:
    review, _ = one_bot.asked(refund())
    [card] = one_bot.messages(review)
    request = BoltRequest(mode="socket_mode", body=button(OLGA, card, ids.APPROVE))

    response = one_bot.app.dispatch(request)

    assert response.status == 200
    assert request.context["said"] == {"tell": "Only finance can decide this."}
    assert one_bot.told(OLGA, "finance") == "Only finance can decide this."


def test_the_bot_is_built_and_presses_arrive_without_asking_slack_who_it_is(one_bot: Bot) -> None:
    _, card = one_bot.asked(refund())
    one_bot.press(ALICE, card, "Approve")
    one_bot.card("refunds", "Approved by")

    assert len(one_bot.calls("auth.test")) == 1


def test_a_press_while_the_database_is_busy_is_answered_when_it_is_free(http_bot: Bot) -> None:
    review, card = http_bot.asked(refund())
    release = threading.Event()
    holder = threading.Thread(target=lambda: http_bot.desk.store.write(lambda _: release.wait(5)))
    holder.start()
    with ThreadPoolExecutor(1) as pool:
        pressed = pool.submit(http_bot.press, ALICE, card, "Approve")
        time.sleep(0.5)
        assert not pressed.done()
        release.set()

        assert pressed.result()["acked"]
    holder.join()
    assert http_bot.review(review).status is Status.DECIDED


def test_a_reminder_waits_for_its_card(sqlite_url: str, tmp_path: Path) -> None:
    with a_bot(sqlite_url, tmp_path, dispatching=False) as bot:
        bot.fault("chat.postMessage", "429", retry_after=2)
        review = bot.submit(refund())
        assert bot.dispatcher.work_once() == 1
        bot.later(timedelta(minutes=11))
        bot.dispatcher.start()

        bot.posted(review)
        eventually(lambda: bot.people.replies("refunds"))
        bot.dispatcher.stop()

        assert len(bot.people.replies("refunds")) == 1
