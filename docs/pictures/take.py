"""Takes the pictures of the README and docs from the running demo: `make pictures`.

Needs the system's Chromium. The demo runs in a folder of its own and is ended afterwards.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect, sync_playwright

from seconder.demo.processes import free_port

HERE = Path(__file__).parent
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
PATIENCE = 60.0
DESKTOP = {"width": 1180, "height": 900}
PHONE = {"width": 390, "height": 844}


def main() -> None:
    """The pictures are written beside this file."""
    port, page_port = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "seconder.cli", "demo", "--folder", folder]
        demo = subprocess.Popen([*command, "--port", str(port), "--page-port", str(page_port)])  # noqa: S603
        try:
            await_page(f"http://127.0.0.1:{page_port}/control/messages?channel=refunds")
            take(f"http://127.0.0.1:{page_port}")
        finally:
            demo.terminate()
            demo.wait(20)


def await_page(url: str) -> None:
    """A card is in #refunds."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if httpx.get(url, timeout=5).json():
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    message = "no card appeared"
    raise SystemExit(message)


def take(url: str) -> None:
    """The story in pictures: asked, the form, decided, and asked on a phone."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        phone = browser.new_page(viewport=PHONE, device_scale_factor=2)
        visit(phone, url, "U02ALICE", "refunds")
        phone.screenshot(path=HERE / "phone.png")
        page = browser.new_page(viewport=DESKTOP)
        visit(page, url, "U02ALICE", "refunds")
        page.screenshot(path=HERE / "card.png")
        page.get_by_role("button", name="Edit…").click()
        page.get_by_label("Amount").fill("120")
        page.screenshot(path=HERE / "form.png")
        page.get_by_role("button", name="Approve with edits").click()
        expect(page.get_by_text("Refunded 120").first).to_be_visible(timeout=30_000)
        page.wait_for_timeout(500)
        page.screenshot(path=HERE / "decided.png")
        visit(page, url, "U02ALICE", "outbound-mail")
        page.screenshot(path=HERE / "second-gate.png")
        browser.close()


def visit(page: Page, url: str, person: str, channel: str) -> None:
    """The page as this person sees it, in this channel, where somebody is asked."""
    await_page(f"{url}/control/messages?channel={channel}")
    [message, *_] = httpx.get(f"{url}/control/messages", params={"channel": channel}).json()
    page.goto(f"{url}/?user={person}&in={message['channel']}")
    page.get_by_role("button", name="Approve").first.wait_for()


if __name__ == "__main__":
    main()
