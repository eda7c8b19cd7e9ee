"""Who may import whom: the contracts in pyproject.toml, and the owners of third-party packages."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter import cli

ROOT = Path(__file__).parents[2]

FRAMEWORKS = frozenset({"seconder.frameworks"})

#: A third-party package, and the only packages of ours that may import it.
OWNERS: Mapping[str, frozenset[str]] = {
    "slack_bolt": frozenset({"seconder.bot"}),
    "slack_sdk": frozenset({"seconder.bot"}),
    "agents": FRAMEWORKS | {"seconder.demo"},  # the demo's own agent: docs/adr/0006
    "autogen_core": FRAMEWORKS,
    "claude_agent_sdk": FRAMEWORKS,
    "crewai": FRAMEWORKS,
    "langchain": FRAMEWORKS,
    "langchain_core": FRAMEWORKS,
    "langgraph": FRAMEWORKS,
    "pydantic_ai": FRAMEWORKS,
    "sqlalchemy": frozenset({"seconder.store"}),
    "alembic": frozenset({"seconder.store"}),
    "psycopg": frozenset({"seconder.store"}),
    "apscheduler": frozenset({"seconder.clockwork"}),
    "cel": frozenset({"seconder.policies"}),
}


@pytest.fixture(scope="session")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("seconder", include_external_packages=True, cache_dir=None)


@pytest.fixture
def linter() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return table


def test_every_contract_of_the_house_is_kept() -> None:
    assert (
        cli.lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
        == cli.EXIT_STATUS_SUCCESS
    )


def test_no_contract_has_an_exception(linter: dict[str, Any]) -> None:
    assert [contract["name"] for contract in linter["contracts"] if "ignore_imports" in contract] == []


@pytest.mark.parametrize("external", sorted(OWNERS))
def test_a_third_party_package_is_imported_only_by_its_owners(graph: grimp.ImportGraph, external: str) -> None:
    importers = graph.find_modules_that_directly_import(external) if external in graph.modules else set()

    assert {name for name in importers if not belongs(name, OWNERS[external])} == set()


def belongs(module: str, owners: frozenset[str]) -> bool:
    return any(module == owner or module.startswith(f"{owner}.") for owner in owners)
