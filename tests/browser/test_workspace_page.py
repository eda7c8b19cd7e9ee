"""The workspace's page in a real browser: a press, a form with an error, and a restart of the server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.support.sandbox import bolt, connected, eventually, running

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
SIZES = {"desktop": (1280, 860), "phone": (390, 780)}


def text(words: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": words}


FORM = {
    "type": "modal", "callback_id": "edit", "title": text("Edit refund"), "submit": text("Send"),
    "blocks": [
        {"type": "input", "block_id": "amount", "label": text("Amount"),
         "element": {"type": "number_input", "action_id": "v", "is_decimal_allowed": True, "initial_value": "240"}},
        {"type": "input", "block_id": "kind", "label": text("Kind"),
         "element": {"type": "static_select", "action_id": "v",
                     "options": [{"text": text("Damaged"), "value": "d"}, {"text": text("Late"), "value": "l"}],
                     "initial_option": {"text": text("Late"), "value": "l"}}},
        {"type": "input", "block_id": "why", "label": text("Reason"),
         "element": {"type": "plain_text_input", "action_id": "v", "multiline": True}},
    ],
}  # fmt: skip
CARD = [
    {"type": "header", "text": text("Refund 240.00")},
    {"type": "actions", "elements": [{"type": "button", "action_id": "edit", "text": text("Edit…")}]},
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(params=SIZES)
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    width, height = SIZES[request.param]
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(10_000)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    page.close()
    assert faults == []


def test_a_person_presses_a_button_and_fills_a_form(page: Page, tmp_path: Path) -> None:
    heard: list[dict[str, Any]] = []
    with running(tmp_path / "w.db") as (sandbox, hand):
        app = bolt(sandbox.api_url)

        @app.action("edit")
        def edit(ack: Any, body: dict[str, Any], client: Any) -> None:
            ack()
            client.views_open(trigger_id=body["trigger_id"], view=FORM)

        @app.view("edit")
        def send(ack: Any, body: dict[str, Any], client: Any) -> None:
            values = body["view"]["state"]["values"]
            if values["amount"]["v"]["value"] == "999":
                ack(response_action="errors", errors={"amount": "More than was proposed."})
                return
            heard.append(values)
            ack()
            client.chat_update(channel="C01REFUNDS", ts=ts, text="Edited by Alice")

        with connected(app):
            eventually(lambda: hand.see("status")["connected"])
            ts = hand.api("chat.postMessage", channel="#refunds", text="Refund", blocks=CARD)["ts"]
            page.goto(f"{sandbox.url}/?user=U02ALICE&in=C01REFUNDS")
            page.get_by_role("button", name="Edit…").click()
            form = page.get_by_role("dialog", name="Edit refund")
            form.get_by_label("Amount").fill("999")
            form.get_by_role("button", name="Send").click()
            expect(form.get_by_text("Please complete this required field.")).to_be_visible()
            form.get_by_label("Reason").fill("The parcel was damaged")
            form.get_by_role("button", name="Send").click()
            expect(form.get_by_text("More than was proposed.")).to_be_visible()
            expect(form.get_by_label("Reason")).to_have_value("The parcel was damaged")
            form.get_by_label("Amount").fill("120")
            form.get_by_role("button", name="Send").click()
            expect(form).to_be_hidden()
            expect(page.get_by_text("Edited by Alice")).to_be_visible()

    [values] = heard
    assert values["amount"]["v"]["value"] == "120"
    assert values["kind"]["v"]["selected_option"]["value"] == "l"
    assert values["why"]["v"]["value"] == "The parcel was damaged"


def test_a_press_without_the_app_shows_a_warning_and_the_page_survives_a_restart(page: Page, tmp_path: Path) -> None:
    with running(tmp_path / "w.db") as (sandbox, hand):
        port = int(sandbox.url.rsplit(":", 1)[1])
        hand.api("chat.postMessage", channel="#refunds", text="Refund", blocks=CARD)
        page.goto(f"{sandbox.url}/?user=U03BOB&in=C01REFUNDS")
        page.get_by_role("button", name="Edit…").click()
        expect(page.get_by_text("This app is not connected.")).to_be_visible()

    expect(page.get_by_text("cannot be reached")).to_be_visible()
    with running(tmp_path / "w.db", port=port) as (_, hand):
        expect(page.get_by_text("cannot be reached")).to_be_hidden()
        hand.do("post", user="riley", channel="refunds", text="Still there?")

        expect(page.get_by_text("Still there?")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
