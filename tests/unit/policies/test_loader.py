import hashlib
from pathlib import Path

import pytest

from seconder.errors import PolicyInvalid
from seconder.policies import load
from tests.support.policies import HEAD, case, said

MAIN = HEAD + "  - {name: a, tool: a, verdict: allow}\n"
MORE = "version: 1\nroles:\n  ops: {user_groups: [S0OPS]}\nrules:\n  - {name: b, tool: '*', verdict: deny}\n"


def faults(path: Path) -> list[str]:
    with pytest.raises(PolicyInvalid) as caught:
        load(path)
    return [f"{fault.path}: {fault.message}" for fault in caught.value.faults]


def test_the_digest_of_a_file_is_over_its_text(tmp_path: Path) -> None:
    (file := tmp_path / "p.yml").write_text(MAIN)

    assert load(file).digest == "sha256:" + hashlib.sha256(MAIN.encode()).hexdigest()


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "20-more.yaml").write_text(MORE)
    (tmp_path / "10-main.yml").write_text(MAIN)
    (tmp_path / "notes.txt").write_text("not a policy")

    found = load(tmp_path)

    assert [(rule.name, rule.source) for rule in found.rules] == [("a", "10-main.yml:7"), ("b", "20-more.yaml:5")]
    assert sorted(found.roles) == ["finance", "leads", "ops"]
    assert said(found, case("a")) == ("deny", "b")


def test_the_digest_of_a_folder_changes_with_every_file(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(MAIN)
    (tmp_path / "b.yml").write_text("version: 1\n")
    before = load(tmp_path).digest
    (tmp_path / "b.yml").write_text("version: 1 # now\n")

    assert load(tmp_path).digest != before


def test_roles_of_one_file_serve_the_routes_of_another(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text('version: 1\nfallback: {channel: "#x", roles: [ops]}\n')
    (tmp_path / "b.yml").write_text(MORE)

    assert load(tmp_path).fallback.roles == ("ops",)


def test_what_two_files_both_say_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(MAIN + "break_glass: [leads]\n")
    (tmp_path / "b.yml").write_text(MAIN.replace("version: 1\n", "") + "break_glass: [leads]\n")

    assert [fault.partition("; ")[0] for fault in faults(tmp_path)] == [
        "b.yml:1: 'version' is missing",
        "b.yml:2: roles.finance: role 'finance' is declared at a.yml:3 already",
        "b.yml:3: roles.leads: role 'leads' is declared at a.yml:4 already",
        "b.yml:4: fallback: stands at a.yml:5 already",
        "b.yml:6: rules[0]: the name 'a' is taken by the rule at a.yml:7",
        "b.yml:7: break_glass: stands at a.yml:8 already",
    ]


def test_a_folder_without_any_fallback_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "b.yml").write_text(MORE)

    assert faults(tmp_path) == ["b.yml:1: fallback: is missing; say where to ask about what no rule names"]


def test_every_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_bytes(b"version: 1\nroles: \xff\n")
    (tmp_path / "b.yml").write_bytes(b"#" * (1024 * 1024 + 1))

    assert [fault.partition(";")[0] for fault in faults(tmp_path)] == [
        "a.yml:2: is not UTF-8",
        "b.yml:1: is larger than 1,048,576 bytes",
    ]


def test_nothing_to_read_is_a_fault(tmp_path: Path) -> None:
    assert "there is no such file or folder" in faults(tmp_path / "none.yml")[0]
    assert "there is no .yml or .yaml file" in faults(tmp_path)[0]


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    (file := tmp_path / "p.yml").write_bytes(b"\xef\xbb\xbf" + MAIN.encode())

    assert len(load(file).rules) == 1
