"""The examples that we hand out do what their sentences say."""

from pathlib import Path
from typing import Any

import pytest

from seconder.policies import Case, load
from seconder.policies.check import notes, shadowed
from tests.support.policies import case, judged, question, said, state

EXAMPLES = Path(__file__).parents[3] / "policies" / "examples"


def prod(tool: str, **args: Any) -> Case:
    return case(tool, args, environment="prod")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (prod("terraform_apply", destroy=True), ("deny", "never outside the window")),
        (prod("terraform_plan"), ("allow", "reads")),
        (prod("kubectl_apply", file="x"), ("ask", "production")),
        (case("kubectl_apply", {}, environment="staging"), ("allow", "staging")),
        (case("kubectl_apply", {}), ("ask", "production")),
        (prod("grant_access", user="U1", token="t"), ("ask", "access")),
        (prod("delete_everything"), ("ask", "fallback")),
    ],
)
def test_deployments(asked: Case, expected: tuple[str, str]) -> None:
    assert said(load(EXAMPLES / "deployments.yml"), asked) == expected


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (case("delete_contacts", {"ids": list(range(26))}), ("deny", "no bulk deletes")),
        (case("delete_contacts", {"ids": [1]}), ("ask", "fallback")),
        (case("send_email", {"to": ["a@acme.example"]}, confidence=0.9), ("allow", "mail inside")),
        (case("send_email", {"to": ["a@acme.example"]}, confidence=0.6), ("ask", "not sure enough")),
        (case("send_email", {"to": ["a@acme.example", "b@x.example"]}), ("ask", "mail outside")),
        (question("The customer says: I want a Manager!"), ("ask", "wants a manager")),
        (question("Which management fee applies?"), ("ask", "fallback")),
        (state(["look", "pay"]), ("ask", "long plans")),
    ],
)
def test_assistant(asked: Case, expected: tuple[str, str]) -> None:
    assert said(load(EXAMPLES / "assistant.yml"), asked) == expected


def test_a_question_for_a_manager_goes_to_that_person() -> None:
    verdict = judged(load(EXAMPLES / "assistant.yml"), question("a manager, please")).verdict

    assert verdict.route is not None
    assert (verdict.route.channel, verdict.route.roles) == ("@U06FATOU", ("managers",))


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yml")), ids=lambda file: file.stem)
def test_every_rule_of_an_example_can_decide(file: Path) -> None:
    assert shadowed(load(file)) == []


def test_only_autonomy_is_noted_in_the_examples() -> None:
    found = [note.message for file in sorted(EXAMPLES.glob("*.yml")) for note in notes(load(file))]

    assert found == ["'autonomy' of rule 'refunds' is not applied: everything that matches is asked"]
