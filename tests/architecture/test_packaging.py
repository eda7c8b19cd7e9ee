"""The package list, the links and the folders say the same (docs/adr/0001)."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
AT_THE_TOP = ("bot", "policies", "store")
DATA_ONLY = "store/migrations/versions"  # Alembic reads these by path


@pytest.fixture
def setuptools() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    table: dict[str, Any] = project["tool"]["setuptools"]
    return table


def folders_with_code() -> set[str]:
    """Every folder of ours that holds Python, as a path; the links are looked through once, by their targets."""
    tops = [ROOT / name for name in ("seconder", *AT_THE_TOP)]
    files = [file for top in tops for file in top.rglob("*.py") if not linked(file)]
    return {str(file.parent.relative_to(ROOT)) for file in files} - {DATA_ONLY}


def linked(file: Path) -> bool:
    return any(parent.is_symlink() for parent in file.parents)


def folder_of(package: str, mapping: dict[str, str]) -> str:
    """The folder of a package by setuptools' rule: its own entry, else the nearest parent's plus the rest."""
    parent, rest = package, ""
    while parent not in mapping:
        parent, _, last = parent.rpartition(".")
        rest = f"/{last}{rest}"
    return mapping[parent] + rest


def test_every_folder_with_code_is_a_listed_package(setuptools: dict[str, Any]) -> None:
    listed = {folder_of(name, setuptools["package-dir"]) for name in setuptools["packages"]}

    assert listed == folders_with_code()


def test_every_package_has_an_init_file(setuptools: dict[str, Any]) -> None:
    folders = [ROOT / folder_of(name, setuptools["package-dir"]) for name in setuptools["packages"]]

    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_every_other_file_in_a_package_is_installed_with_it(setuptools: dict[str, Any]) -> None:
    data = {name: ROOT / folder_of(name, setuptools["package-dir"]) for name in setuptools["package-data"]}
    installed = {
        file
        for name, folder in data.items()
        for pattern in setuptools["package-data"][name]
        for file in folder.glob(pattern)
    }
    tops = [ROOT / name for name in ("seconder", *AT_THE_TOP)]
    there = {file for top in tops for file in top.rglob("*.*") if file.is_file() and not linked(file)}

    assert {file for file in there - installed if file.suffix not in {".py", ".pyc"}} == set()


def test_packages_are_listed_in_order(setuptools: dict[str, Any]) -> None:
    assert setuptools["packages"] == sorted(setuptools["packages"])


@pytest.mark.parametrize("name", AT_THE_TOP)
def test_a_top_level_folder_is_linked_into_the_package(name: str) -> None:
    link = ROOT / "seconder" / name

    assert link.is_symlink()
    assert str(link.readlink()) == f"../{name}"


@pytest.mark.parametrize("name", AT_THE_TOP)
def test_a_top_level_folder_has_one_name_in_python(name: str, setuptools: dict[str, Any]) -> None:
    assert setuptools["package-dir"][f"seconder.{name}"] == name
    assert name not in setuptools["packages"]


def test_the_links_are_committed_as_links_and_not_ignored() -> None:
    ignored = (ROOT / ".gitignore").read_text().splitlines()

    assert [line for line in ignored if line.startswith("seconder/")] == []
