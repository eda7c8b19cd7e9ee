"""What Slack sends back from a form: every field as prefilled, and then what somebody changed."""

from typing import Any


def untouched(view: dict[str, Any]) -> dict[str, Any]:
    """`view.state.values` of a form in which nothing was touched."""
    return {block["block_id"]: {"value": _held(block["element"])} for block in inputs(view)}


def typed(view: dict[str, Any], **by_label: Any) -> dict[str, Any]:
    """The same with other content: text for a box, a label for a select, a list of labels for many."""
    state = untouched(view)
    for block in inputs(view):
        label = block["label"]["text"]
        if label in by_label:
            state[block["block_id"]] = {"value": _filled(block["element"], by_label[label])}
    return state


def inputs(view: dict[str, Any]) -> list[dict[str, Any]]:
    return [block for block in view["blocks"] if block["type"] == "input"]


def field(view: dict[str, Any], label: str) -> dict[str, Any]:
    """The one input block of this label."""
    [block] = [block for block in inputs(view) if block["label"]["text"] == label]
    return block


def _held(element: dict[str, Any]) -> dict[str, Any]:
    match element["type"]:
        case "plain_text_input" | "number_input":
            return {"type": element["type"], "value": element.get("initial_value")}
        case "multi_static_select":
            return {"type": element["type"], "selected_options": element.get("initial_options", [])}
        case _:
            return {"type": element["type"], "selected_option": element.get("initial_option")}


def _filled(element: dict[str, Any], content: Any) -> dict[str, Any]:
    by_label = {option["text"]["text"]: option for option in element.get("options", ())}
    match element["type"]:
        case "plain_text_input" | "number_input":
            return {"type": element["type"], "value": content}
        case "multi_static_select":
            return {"type": element["type"], "selected_options": [by_label[label] for label in content]}
        case _:
            return {"type": element["type"], "selected_option": by_label[content]}
