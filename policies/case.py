"""What is judged: an interrupt, and the names under which conditions see its parts."""

from collections.abc import Mapping
from dataclasses import dataclass

from seconder.action import Json
from seconder.review import Interrupt, Kind, Requester

QUESTION_TOOL = "ask_human"
STATE_TOOL = "edit_state"
NAMES = ("tool", "args", "agent", "environment", "session", "requester", "risk", "confidence", "kind")

NOBODY = Requester()


@dataclass(frozen=True, slots=True)
class Case:
    """What was not sent is null in a condition; questions are the tool `ask_human`, states `edit_state`.

    The arguments are canonical already (at most 64 levels deep): `seconder.action` has refused others.
    """

    interrupt: Interrupt

    @property
    def kind(self) -> Kind:
        return self.interrupt.kind

    @property
    def tool(self) -> str:
        match self.interrupt.kind:
            case Kind.QUESTION:
                return QUESTION_TOOL
            case Kind.STATE_EDIT:
                return STATE_TOOL
            case Kind.TOOL_CALL | Kind.APPROVAL:
                if self.interrupt.action is None:
                    raise RuntimeError(f"an interrupt of kind {self.interrupt.kind} has no action")
                return self.interrupt.action.tool

    @property
    def args(self) -> Mapping[str, Json]:
        """The arguments; of a question its prompt and options, of a state edit the state."""
        interrupt = self.interrupt
        if interrupt.kind is Kind.QUESTION and interrupt.question is not None:
            return {"prompt": interrupt.question.prompt, "options": list(interrupt.question.options)}
        if interrupt.kind is Kind.STATE_EDIT and interrupt.state is not None:
            return {"state": interrupt.state.value}
        return {} if interrupt.action is None else interrupt.action.arguments

    @property
    def agent(self) -> str:
        return self.interrupt.agent.name

    @property
    def environment(self) -> str | None:
        return self.interrupt.environment

    @property
    def session(self) -> str | None:
        return self.interrupt.session

    @property
    def requester(self) -> Mapping[str, str | None]:
        """`slack_user`, `email` and `name`, each null where it was not sent."""
        requester = self.interrupt.requester or NOBODY
        return {"slack_user": requester.slack_user, "email": requester.email, "name": requester.name}

    @property
    def risk(self) -> float | None:
        return self.interrupt.risk

    @property
    def confidence(self) -> float | None:
        return self.interrupt.confidence

    @property
    def names(self) -> dict[str, Json]:
        """Every name a condition can use, with its value."""
        return {name: getattr(self, name) for name in NAMES} | {"kind": self.kind.value}
