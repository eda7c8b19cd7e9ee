"""What inputs hold: `state.values` from what was shown, what was typed, and plain values."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from seconder.sandbox.storage import Doc

State = dict[str, dict[str, Doc]]

# element type -> (its key in the state, the field with its initial value)
HELD: dict[str, tuple[str, str]] = {
    "plain_text_input": ("value", "initial_value"),
    "number_input": ("value", "initial_value"),
    "email_text_input": ("value", "initial_value"),
    "url_text_input": ("value", "initial_value"),
    "rich_text_input": ("rich_text_value", "initial_value"),
    "static_select": ("selected_option", "initial_option"),
    "external_select": ("selected_option", "initial_option"),
    "radio_buttons": ("selected_option", "initial_option"),
    "users_select": ("selected_user", "initial_user"),
    "channels_select": ("selected_channel", "initial_channel"),
    "conversations_select": ("selected_conversation", "initial_conversation"),
    "multi_static_select": ("selected_options", "initial_options"),
    "multi_external_select": ("selected_options", "initial_options"),
    "checkboxes": ("selected_options", "initial_options"),
    "multi_users_select": ("selected_users", "initial_users"),
    "multi_channels_select": ("selected_channels", "initial_channels"),
    "multi_conversations_select": ("selected_conversations", "initial_conversations"),
    "datepicker": ("selected_date", "initial_date"),
    "timepicker": ("selected_time", "initial_time"),
    "datetimepicker": ("selected_date_time", "initial_date_time"),
    "file_input": ("files", "initial_files"),
}
_LISTS = frozenset({"selected_options", "selected_users", "selected_channels", "selected_conversations", "files"})
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def elements(blocks: Iterable[Any]) -> Iterator[tuple[Doc, Doc]]:
    """(block, element) for everything interactive, in the order of the blocks."""
    for block in blocks:
        if not isinstance(block, dict):
            continue
        yield from elements(block.get("child_blocks", []))
        for element in _inside(block):
            if isinstance(element, dict) and "action_id" in element:
                yield block, element


def _inside(block: Doc) -> list[Any]:
    kind = block.get("type")
    if kind == "input":
        return [block.get("element")]
    if kind == "section":
        return [block.get("accessory")]
    if kind == "card":
        return list(block.get("actions", []))
    if kind == "carousel":
        return [action for card in block.get("elements", []) for action in card.get("actions", [])]
    return list(block.get("elements", [])) if kind in {"actions", "context_actions"} else []


def state(blocks: Iterable[Any], typed: State | None = None) -> State:
    """What every stateful element holds: what was typed under its ids, else its initial value."""
    values: State = {}
    for block, element in elements(blocks):
        kind = element["type"]
        if kind not in HELD:
            continue
        entry = (typed or {}).get(block["block_id"], {}).get(element["action_id"])
        if entry is None or entry.get("type") != kind:
            entry = _initial(element)
        values.setdefault(block["block_id"], {})[element["action_id"]] = entry
    return values


def _initial(element: Doc) -> Doc:
    key, field = HELD[element["type"]]
    empty: Any = [] if key in _LISTS else None
    return {"type": element["type"], key: element.get(field, empty)}


def entry(element: Doc, value: Any) -> Doc:
    """The state of `element` once a person gave it a plain value (an option is named by its `value`)."""
    kind = element["type"]
    key, _ = HELD[kind]
    if key == "selected_option":
        value = None if value is None else _option(element, value)
    elif key == "selected_options":
        value = [_option(element, one) for one in value or []]
    elif key == "value" and value is not None:
        value = str(value)
    elif key == "rich_text_value" and isinstance(value, str):
        text = {"type": "rich_text_section", "elements": [{"type": "text", "text": value}]}
        value = {"type": "rich_text", "elements": [text]}
    return {"type": kind, key: value}


def _option(element: Doc, value: Any) -> Doc:
    if isinstance(value, dict):
        return value
    grouped = [o for group in element.get("option_groups", []) for o in group["options"]]
    for option in [*element.get("options", []), *grouped]:
        if option.get("value") == value:
            return dict(option)
    if element["type"].endswith("external_select"):
        return {"text": {"type": "plain_text", "text": str(value), "emoji": True}, "value": str(value)}
    raise ValueError(f"{element['action_id']} has no option {value!r}")


def complaints(blocks: Iterable[Any], values: Mapping[str, Mapping[str, Doc]]) -> dict[str, str]:
    """What Slack itself says under a field before it sends the form, by block_id."""
    found: dict[str, str] = {}
    for block, element in elements(blocks):
        if block.get("type") != "input":
            continue
        key, _ = HELD[element["type"]]
        held = values.get(block["block_id"], {}).get(element["action_id"], {}).get(key)
        if held in (None, "", []):
            if not block.get("optional"):
                found[block["block_id"]] = "Please complete this required field."
            continue
        said = _wrong(element, held)
        if said:
            found[block["block_id"]] = said
    return found


def _wrong(element: Doc, held: Any) -> str | None:
    kind = element["type"]
    if kind == "plain_text_input":
        if len(held) < element.get("min_length", 0):
            return f"Please enter at least {element['min_length']} characters."
        if len(held) > element.get("max_length", 3_000):
            return f"Please enter at most {element.get('max_length', 3_000)} characters."
    if kind == "email_text_input" and not _EMAIL.fullmatch(held):
        return "Please enter a valid email address."
    if kind == "url_text_input" and "://" not in held:
        return "Please enter a valid URL."
    return _wrong_number(element, held) if kind == "number_input" else None


def _wrong_number(element: Doc, held: str) -> str | None:
    if not _NUMBER.fullmatch(held):
        return "Please enter a number."
    if not element["is_decimal_allowed"] and "." in held:
        return "Please enter a whole number."
    if "min_value" in element and float(held) < float(element["min_value"]):
        return f"Please enter a number of at least {element['min_value']}."
    if "max_value" in element and float(held) > float(element["max_value"]):
        return f"Please enter a number of at most {element['max_value']}."
    return None
