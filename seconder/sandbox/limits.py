"""Slack's published limits, as named numbers and as tables that the validator walks."""

BLOCKS_PER_MESSAGE = 50
BLOCKS_PER_VIEW = 100
TEXT = 3_000
MESSAGE_TEXT_KEPT = 40_000
UPDATE_TEXT = 4_000
ALL_TEXT_OF_A_MESSAGE = 12_000
MARKDOWN = 12_000
TABLE_TEXT = 10_000
PRIVATE_METADATA = 3_000
VIEW_BYTES = 250_000
VIEW_STACK = 3
TRIGGER_SECONDS = 3.0
ACK_SECONDS = 3.0
RESPONSE_URL_USES = 5
RESPONSE_URL_SECONDS = 1_800.0
IDENTIFIER = 255
ATTACHMENTS = 100
METADATA_BYTES = 8_000

# type -> field path -> greatest length after escaping; `[]` steps into a list
LENGTHS: dict[str, dict[str, int]] = {
    "plain_text": {"text": TEXT},
    "mrkdwn": {"text": TEXT},
    "header": {"text": 150},
    "section": {"text": TEXT, "fields[]": 2_000},
    "image": {"alt_text": 2_000, "title": 2_000, "image_url": 3_000},
    "input": {"label": 2_000, "hint": 2_000},
    "markdown": {"text": MARKDOWN},
    "card": {"title": 150, "subtitle": 150, "body": 200, "subtext": 200},
    "container": {"title": 150, "subtitle": 150},
    "alert": {"text": 200},
    "button": {"text": 75, "value": 2_000, "url": 3_000, "accessibility_label": 75},
    "icon_button": {"text": 75, "value": 2_000},
    "workflow_button": {"text": 75, "accessibility_label": 75},
    "plain_text_input": {"initial_value": TEXT},
}
OPTION = {"text": 75, "description": 75, "value": 150, "url": 3_000}
CONFIRM = {"title": 100, "text": 300, "confirm": 30, "deny": 30}
PLACEHOLDER = 150

# type -> field path -> (fewest, most)
COUNTS: dict[str, dict[str, tuple[int, int]]] = {
    "section": {"fields": (1, 10)},
    "context": {"elements": (1, 10)},
    "actions": {"elements": (1, 25)},
    "context_actions": {"elements": (1, 5)},
    "table": {"rows": (1, 100), "rows[]": (1, 20), "column_settings": (0, 20)},
    "data_table": {"rows": (2, 201), "rows[]": (1, 20)},
    "card": {"actions": (1, 3)},
    "carousel": {"elements": (1, 10)},
    "container": {"child_blocks": (1, 10)},
    "plan": {"tasks": (0, 50)},
    "static_select": {"options": (1, 100), "option_groups": (1, 100), "option_groups[].options": (1, 100)},
    "multi_static_select": {"options": (1, 100), "option_groups": (1, 100), "option_groups[].options": (1, 100)},
    "checkboxes": {"options": (1, 10)},
    "radio_buttons": {"options": (1, 10)},
    "overflow": {"options": (1, 5)},
}

# type -> field -> (least, greatest)
NUMBERS: dict[str, dict[str, tuple[int, int]]] = {
    "plain_text_input": {"min_length": (0, TEXT), "max_length": (1, TEXT)},
    "file_input": {"max_files": (1, 10)},
    "rich_text_input": {"min_lines": (1, 100), "max_lines": (1, 100)},
    "header": {"level": (1, 4)},
}

_EVERYWHERE = frozenset({"message", "modal", "home"})
SURFACES: dict[str, frozenset[str]] = {
    **dict.fromkeys(
        ("section", "header", "divider", "context", "actions", "image", "rich_text", "video", "card"), _EVERYWHERE
    ),
    "input": frozenset({"modal", "home"}),
    **dict.fromkeys(("markdown", "plan", "task_card", "context_actions", "file"), frozenset({"message"})),
    **dict.fromkeys(("table", "data_table", "container", "carousel"), frozenset({"message", "home"})),
    "alert": frozenset({"modal"}),
}

# method -> calls a minute; chat.postMessage is counted per channel besides
TIERS: dict[str, int] = {
    "chat.postMessage": 300,
    "chat.update": 50,
    "chat.delete": 50,
    "chat.postEphemeral": 100,
    "chat.getPermalink": 300,
    "auth.test": 300,
    "views.open": 100,
    "views.push": 100,
    "views.update": 100,
    "views.publish": 100,
    "users.info": 100,
    "users.lookupByEmail": 50,
    "users.list": 20,
    "usergroups.list": 20,
    "usergroups.users.list": 20,
    "conversations.info": 50,
    "conversations.open": 50,
    "conversations.history": 50,
    "conversations.replies": 50,
    "conversations.members": 100,
    "conversations.list": 20,
    "apps.connections.open": 10,
}
POSTS_PER_SECOND_IN_A_CHANNEL = 1.0
POST_BURST = 3
