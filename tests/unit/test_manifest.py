"""The Slack app manifest, against Slack's own schema of it."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture
def manifest() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "manifest.yml").read_text())
    return loaded


def faults(manifest: dict[str, Any]) -> list[str]:
    schema = json.loads((ROOT / "tests/support/manifest.schema.json").read_text())
    found = jsonschema.Draft7Validator(schema).iter_errors(manifest)
    return [f"{error.json_path}: {error.message}" for error in found]


def test_the_manifest_is_one_that_slack_accepts(manifest: dict[str, Any]) -> None:
    assert faults(manifest) == []


def test_the_schema_refuses_what_slack_refuses(manifest: dict[str, Any]) -> None:
    manifest["settings"]["socket_mode"] = True

    assert faults(manifest) != []


def test_the_bot_asks_for_no_scope_that_it_does_not_use(manifest: dict[str, Any]) -> None:
    scopes = manifest["oauth_config"]["scopes"]

    assert {kind: sorted(names) for kind, names in scopes.items()} == {
        "bot": [
            "channels:history",
            "channels:read",
            "chat:write",
            "groups:history",
            "groups:read",
            "im:write",
            "usergroups:read",
            "users:read",
            "users:read.email",
        ]
    }


def test_presses_arrive_over_socket_mode_without_a_public_address(manifest: dict[str, Any]) -> None:
    settings = manifest["settings"]

    assert settings["socket_mode_enabled"] is True
    assert settings["interactivity"] == {"is_enabled": True}
