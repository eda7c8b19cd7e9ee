"""What Slack would refuse: the block schema of Slack's own types, and the limits that a schema cannot say."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator

CARD_TEXT = 10_000  # what we allow ourselves; Slack refuses somewhere above 11,000
_TEXTS = ("text", "url", "fallback", "value", "alt_text")


def message_faults(message: Any) -> list[str]:
    """Why Slack would refuse this message, or its update."""
    faults = _block_faults(message.blocks)
    faults += [f"{len(message.blocks)} blocks"] * (len(message.blocks) > 50)
    faults += [f"text of {len(message.text)}"] * (not 0 < len(message.text) <= 3000)
    total = sum(escaped(text) for text in texts(message.blocks))
    faults += [f"{total} characters in all"] * (total >= CARD_TEXT)
    return [*faults, *_limit_faults(message.blocks)]


def view_faults(view: dict[str, Any]) -> list[str]:
    """Why Slack would refuse this modal."""
    faults = _modal_faults(view)
    faults += [f"{len(view['blocks'])} blocks"] * (not 0 < len(view["blocks"]) <= 100)
    titles = [view[part]["text"] for part in ("title", "submit", "close") if part in view]
    faults += [f"title {title!r}" for title in titles if not 0 < len(title) <= 24]
    faults += ["metadata"] * (len(view["private_metadata"]) >= 3000)
    faults += ["250 kB"] * (len(json.dumps(view)) >= 250_000)
    faults += ["inputs without submit"] * (any(b["type"] == "input" for b in view["blocks"]) and "submit" not in view)
    return [*faults, *_limit_faults(view["blocks"])]


def texts(value: Any) -> Iterator[str]:
    """Every text that a reader or a limit meets."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in _TEXTS and isinstance(item, str):
                yield item
            else:
                yield from texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts(item)


def mrkdwn(value: Any) -> list[Any]:
    """The objects that Slack would read as markup."""
    return [part for part in _objects(value) if part.get("type") == "mrkdwn" or part.get("emoji") is True]


def said(value: Any) -> str:
    """All text in reading order, as one string."""
    return "".join(texts(value))


def escaped(text: str) -> int:
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def labels(message: Any) -> list[str]:
    """The labels of the buttons, in order."""
    return [part["text"]["text"] for part in _objects(message.blocks) if part.get("type") == "button"]


def _block_faults(blocks: list[Any]) -> list[str]:
    """Each block against the definition of its own type: faster than against any of twenty, and it names the fault."""
    faults = []
    for block in json.loads(json.dumps(blocks)):
        validator = _validators().get(block["type"])
        errors = validator.iter_errors(block) if validator else [f"unknown block {block['type']}"]
        faults += [str(error)[:600] for error in errors]
    return faults


def _modal_faults(view: dict[str, Any]) -> list[str]:
    empty = {**json.loads(json.dumps(view)), "blocks": []}
    return [error.message[:200] for error in _validator("StrictModal").iter_errors(empty)] + _block_faults(
        view["blocks"]
    )


@cache
def _schema() -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(Path(__file__).with_name("blockkit.schema.json").read_text())
    return schema


def _validator(definition: str) -> Draft7Validator:
    return Draft7Validator({**_schema(), "$ref": f"#/definitions/{definition}"})


@cache
def _validators() -> dict[str, Draft7Validator]:
    blocks = {name: body for name, body in _schema()["definitions"].items() if name.endswith("Block")}
    return {
        body["properties"]["type"]["const"]: _validator(name)
        for name, body in blocks.items()
        if "const" in body.get("properties", {}).get("type", {})
    }


def _limit_faults(blocks: list[Any]) -> list[str]:
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    faults = ["two blocks of one block_id"] * (len(set(ids)) < len(ids))
    for part in _objects(blocks):
        over = [
            ("text", 0 < _length(part.get("text", "x")) <= 3000),
            ("elements", part.get("elements") != []),
            ("options", len(part.get("options", ())) <= (10 if part.get("type") == "radio_buttons" else 100)),
            ("header", part.get("type") != "header" or _length(part["text"]) <= 150),
            ("button or option", "value" not in part or _length(part.get("text", "x")) <= 75),
            ("value", len(part.get("value", "")) <= 150),
            ("initial value", len(part.get("initial_value", "")) <= 3000),
            ("label", _length(part.get("label", "x")) <= 2000),
            ("hint", _length(part.get("hint", "x")) <= 2000),
        ]
        faults += [f"{limit} in {str(part)[:200]}" for limit, fine in over if not fine]
    return faults


def _length(text: Any) -> int:
    return escaped(text["text"] if isinstance(text, dict) else text)


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)
