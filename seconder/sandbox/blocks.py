"""Block Kit as Slack checks it: structure by Slack's own types, then lengths, counts, ids and surfaces."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from seconder.sandbox import limits
from seconder.sandbox.schema import schema_faults

_ENTITY = re.compile(r"&(?!(?:amp|lt|gt);)")


def escaped_length(text: str, *, markup: bool = False) -> int:
    """How long Slack counts `text`: after `&`, `<` and `>` became entities; in markup `<…>` are tokens and stay."""
    text = _ENTITY.sub("&amp;", text)
    if markup:
        return len(text)
    return len(text) + 3 * (text.count("<") + text.count(">"))


def faults(blocks: object, surface: str, pointer: str = "/blocks") -> list[str]:
    """Every reason why Slack would refuse `blocks` on `surface` (message, modal, home); empty when it takes them."""
    if not isinstance(blocks, list):
        return [_said("must be an array", pointer)]
    most = limits.BLOCKS_PER_MESSAGE if surface == "message" else limits.BLOCKS_PER_VIEW
    if len(blocks) > most:
        return [_said(f"no more than {most} items allowed", pointer)]
    found: list[str] = []
    for index, block in enumerate(blocks):
        found += _block_faults(block, surface, f"{pointer}/{index}")
    return found or _repeated(blocks, pointer)


def view_faults(view: Mapping[str, Any]) -> list[str]:
    """Why Slack would refuse this modal or Home view; its blocks are included."""
    surface = str(view.get("type"))
    if surface not in {"modal", "home"}:
        return [_said(f"unsupported type: {surface}", "/view/type")]
    found = faults(view.get("blocks"), surface, "/view/blocks")
    shell = {**view, "blocks": []}
    found += _pointed(schema_faults(shell, "StrictModal" if surface == "modal" else "StrictHome"), "/view")
    for field in ("title", "submit", "close"):
        found += _too_long(view.get(field), 24, f"/view/{field}")
    found += _too_long(view.get("private_metadata"), limits.PRIVATE_METADATA, "/view/private_metadata", escape=False)
    for field in ("callback_id", "external_id"):
        found += _too_long(view.get(field), limits.IDENTIFIER, f"/view/{field}", escape=False)
    blocks = view.get("blocks")
    inputs = isinstance(blocks, list) and any(isinstance(b, dict) and b.get("type") == "input" for b in blocks)
    if surface == "modal" and inputs and not view.get("submit"):
        found.append(_said("`submit` is required when an input block is within blocks", "/view/submit"))
    return found


def total_text(blocks: object) -> int:
    """The characters of all text in `blocks` together, counted after escaping."""
    return sum(
        escaped_length(node["text"], markup=node["type"] in {"mrkdwn", "markdown"})
        for node, _ in _nodes(blocks, "")
        if isinstance(node.get("text"), str)
    )


def table_text(blocks: object) -> int:
    """The characters in all tables of a message together."""
    tables = [b for b in blocks if isinstance(b, dict) and b.get("type") == "table"] if isinstance(blocks, list) else []
    return total_text(tables)


def _block_faults(block: object, surface: str, pointer: str) -> list[str]:
    kind = block.get("type") if isinstance(block, dict) else None
    if not isinstance(kind, str) or kind not in limits.SURFACES:
        return [_said(f"unsupported type: {kind}", pointer)]
    if surface not in limits.SURFACES[kind]:
        return [_said(f"unsupported type: {kind} blocks cannot be used in a {surface}", pointer)]
    found = _pointed(schema_faults(block, "KnownBlock"), pointer)
    if found:
        return found
    for node, where in _nodes(block, pointer):
        found += _node_faults(node, where)
    return found


def _node_faults(node: dict[str, Any], pointer: str) -> list[str]:
    kind = node["type"]
    found: list[str] = []
    for path, most in limits.LENGTHS.get(kind, {}).items():
        for value, where in _at(node, path, pointer):
            found += _too_long(value, most, where, escape=path not in {"value", "url", "image_url"}, kind=kind)
    for path, (fewest, greatest) in limits.COUNTS.get(kind, {}).items():
        for value, where in _at(node, path, pointer):
            found += _miscounted(value, fewest, greatest, where)
    for field, (least, greatest) in limits.NUMBERS.get(kind, {}).items():
        if field in node and not least <= node[field] <= greatest:
            found.append(_said(f"must be between {least} and {greatest}", f"{pointer}/{field}"))
    if kind in {"plain_text", "mrkdwn", "text", "markdown"} and node.get("text") == "":
        found.append(_said("must be more than 0 characters", f"{pointer}/text"))
    if kind == "section" and "text" not in node and "fields" not in node:
        found.append(_said("must define either `text` or `fields`", pointer))
    found += _too_long(node.get("placeholder"), limits.PLACEHOLDER, f"{pointer}/placeholder")
    for field in ("block_id", "action_id"):
        found += _too_long(node.get(field), limits.IDENTIFIER, f"{pointer}/{field}", escape=False)
    return found + _option_faults(node, pointer) + _confirm_faults(node, pointer)


def _option_faults(node: dict[str, Any], pointer: str) -> list[str]:
    found: list[str] = []
    options = [*_at(node, "options[]", pointer), *_at(node, "option_groups[].options[]", pointer)]
    for option, where in options:
        for field, most in limits.OPTION.items():
            found += _too_long(option.get(field), most, f"{where}/{field}", escape=field not in {"value", "url"})
    values = [option.get("value") for option, _ in options]
    if len(values) != len(set(values)) and None not in values:
        found.append(_said("option values must be unique", f"{pointer}/options"))
    if options:
        chosen = [*_at(node, "initial_option", pointer), *_at(node, "initial_options[]", pointer)]
        allowed = [option for option, _ in options]
        found += [_said("initial option is not one of the options", where) for o, where in chosen if o not in allowed]
    return found


def _confirm_faults(node: dict[str, Any], pointer: str) -> list[str]:
    confirm = node.get("confirm")
    if not isinstance(confirm, dict) or "type" in confirm:
        return []
    found: list[str] = []
    for field, most in limits.CONFIRM.items():
        found += _too_long(confirm.get(field), most, f"{pointer}/confirm/{field}")
    return found


def _repeated(blocks: list[Any], pointer: str) -> list[str]:
    found: list[str] = []
    seen: set[str] = set()
    for index, block in enumerate(blocks):
        name = block.get("block_id")
        if name in seen:
            found.append(_said(f"`block_id` already exists: {name}", f"{pointer}/{index}/block_id"))
        if name:
            seen.add(name)
        actions: set[str] = set()
        for node, where in _nodes(block, f"{pointer}/{index}"):
            action = node.get("action_id")
            if action in actions:
                found.append(_said(f"`action_id` already exists: {action}", f"{where}/action_id"))
            if action:
                actions.add(action)
    return found


def _too_long(value: object, most: int, pointer: str, *, escape: bool = True, kind: str = "") -> list[str]:
    markup = kind in {"mrkdwn", "markdown"}
    if isinstance(value, dict) and "text" in value:
        markup = value.get("type") == "mrkdwn"
        value, pointer = value["text"], f"{pointer}/text"
    if not isinstance(value, str):
        return []
    length = escaped_length(value, markup=markup) if escape else len(value)
    return [_said(f"must be less than {most + 1} characters", pointer)] if length > most else []


def _miscounted(value: object, fewest: int, most: int, pointer: str) -> list[str]:
    if not isinstance(value, list):
        return []
    if len(value) > most:
        return [_said(f"no more than {most} items allowed", pointer)]
    return [_said(f"no fewer than {fewest} items allowed", pointer)] if len(value) < fewest else []


def _at(node: object, path: str, pointer: str) -> list[tuple[Any, str]]:
    """The values that `path` (`a`, `a[]`, `a[].b`) leads to, with their pointers; absent fields lead nowhere."""
    found: list[tuple[Any, str]] = [(node, pointer)]
    for step in path.split("."):
        name = step.removesuffix("[]")
        found = [(v[name], f"{p}/{name}") for v, p in found if isinstance(v, dict) and name in v]
        if step.endswith("[]"):
            found = [(x, f"{p}/{i}") for v, p in found if isinstance(v, list) for i, x in enumerate(v)]
    return found


def _nodes(value: object, pointer: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Every typed object inside `value`, outermost first."""
    if isinstance(value, dict):
        if isinstance(value.get("type"), str):
            yield value, pointer
        for name, inner in value.items():
            yield from _nodes(inner, f"{pointer}/{name}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _nodes(inner, f"{pointer}/{index}")


def _pointed(faults: list[tuple[str, str]], pointer: str) -> list[str]:
    return [_said(message, pointer + where) for message, where in faults]


def _said(message: str, pointer: str) -> str:
    return f"[ERROR] {message} [json-pointer:{pointer}]"
