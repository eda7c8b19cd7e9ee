"""The JSON of the outside as values: what a caller may send, every fault named by its path.

Bodies are parsed by `seconder.action.parse_json` first, so that integers are exact and duplicate
keys are refused; these models then check the shape.
"""

import json
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    AliasChoices,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from seconder.action import Action, Json, digest_of
from seconder.desk.submit import PauseRequest
from seconder.errors import Fault, InvalidInput, TooLarge
from seconder.review import (
    MAX_INTERRUPTS,
    MAX_RUN_STATE,
    Agent,
    ContextItem,
    Interrupt,
    Kind,
    Question,
    Requester,
    StateValue,
)

Model = TypeVar("Model", bound=BaseModel)

DECISION_WORDS = {
    "approve": "approved",
    "edit": "edited",
    "reject": "rejected",
    "answer": "answered",
    "take_over": "taken_over",
}


def _plain(text: str) -> str:
    if "\x00" in text:
        message = "holds a NUL character; remove it"
        raise ValueError(message)
    text.encode()  # half of a character raises UnicodeEncodeError, which is a ValueError
    return text


def _is_text(value: object) -> object:
    if not isinstance(value, str):
        message = "send a time as text with its offset, like 2027-01-01T10:00:00Z"
        raise ValueError(message)  # noqa: TRY004 - pydantic turns ValueError into a fault
    return value


def _decision_word(value: object) -> object:
    return DECISION_WORDS.get(value, value) if isinstance(value, str) else value


Word = Annotated[str, Field(min_length=1, max_length=255), AfterValidator(_plain)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_plain)]
Prose = Annotated[str, Field(max_length=20_000), AfterValidator(_plain)]
Share = Annotated[float, Field(ge=0, le=1)]
Moment = Annotated[AwareDatetime, BeforeValidator(_is_text)]
DecisionWord = Annotated[
    Literal["approved", "edited", "rejected", "answered", "taken_over"], BeforeValidator(_decision_word)
]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=False, populate_by_name=True)


class AgentIn(_In):
    name: Name
    version: Annotated[str, Field(max_length=200), AfterValidator(_plain)] | None = None


def _agent(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


AgentField = Annotated[AgentIn, BeforeValidator(_agent)]


class ActionIn(_In):
    """`arguments_schema` is JSON Schema 2020-12."""

    tool: Word
    arguments: dict[str, Any]
    arguments_schema: dict[str, Any] | None = None
    summary: Prose | None = None


class QuestionIn(_In):
    prompt: Annotated[str, Field(min_length=1, max_length=20_000), AfterValidator(_plain)]
    options: Annotated[list[Prose], Field(max_length=100)] = []
    answer_schema: dict[str, Any] | None = None


class StateIn(_In):
    value: Any
    state_schema: dict[str, Any] | None = Field(None, alias="schema")


class RequesterIn(_In):
    slack_user: Annotated[str, Field(pattern=r"^[UW][A-Z0-9]{2,}$", max_length=64)] | None = None
    email: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=320)] | None = None
    name: Word | None = None


class ContextIn(_In):
    """A fact (`label`, `text`), a message (`author`, `text`) or a link (`label`, `url`)."""

    kind: Literal["fact", "message", "link"] | None = None
    label: Prose = Field("", validation_alias=AliasChoices("label", "title", "author", "name"))
    text: Prose = Field("", validation_alias=AliasChoices("text", "value", "message", "content"))
    url: Annotated[str, Field(max_length=3000, pattern=r"^https?://")] | None = Field(
        None, validation_alias=AliasChoices("url", "link")
    )


class InterruptIn(_In):
    """What a paused run asks; see the status machine in `seconder.review`."""

    kind: Kind = Kind.TOOL_CALL
    agent: AgentField
    action: ActionIn | None = None
    question: QuestionIn | None = None
    state: StateIn | None = None
    reason: Prose | None = None
    context: Annotated[list[ContextIn], Field(max_length=50)] = []
    requester: RequesterIn | None = None
    session: Word | None = None
    environment: Annotated[str, Field(max_length=100), AfterValidator(_plain)] | None = None
    risk: Share | None = None
    confidence: Share | None = None
    call_id: Word | None = None
    allowed_decisions: list[DecisionWord] = []
    deadline: Moment | None = None

    @model_validator(mode="after")
    def _kind_has_its_part(self) -> "InterruptIn":
        needed = {Kind.QUESTION: "question", Kind.STATE_EDIT: "state"}.get(self.kind, "action")
        for part in ("action", "question", "state"):
            if (getattr(self, part) is not None) != (part == needed):
                message = f"an interrupt of kind {self.kind} has `{needed}` and neither of the others"
                raise ValueError(message)
        return self

    def value(self) -> Interrupt:
        """The interrupt as the core knows it."""
        return Interrupt(
            kind=self.kind,
            agent=Agent(name=self.agent.name, version=self.agent.version),
            action=None if self.action is None else _action(self.action),
            question=None if self.question is None else _question(self.question),
            state=None if self.state is None else StateValue(value=self.state.value, schema=self.state.state_schema),
            reason=self.reason,
            context=tuple(ContextItem(label=item.label, text=item.text, url=item.url) for item in self.context),
            requester=None if self.requester is None else Requester(**self.requester.model_dump()),
            session=self.session,
            environment=self.environment,
            risk=self.risk,
            confidence=self.confidence,
            call_id=self.call_id,
            allowed_decisions=tuple(self.allowed_decisions),
            deadline=None if self.deadline is None else self.deadline.astimezone(UTC),
        )


class PauseIn(_In):
    """A stopped run with its state; the interrupts' agent defaults to the pause's."""

    run: Word
    framework: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_plain)]
    framework_version: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(_plain)]
    agent: AgentField
    state: Any
    interrupts: Annotated[list[InterruptIn], Field(min_length=1, max_length=MAX_INTERRUPTS)]

    @model_validator(mode="before")
    @classmethod
    def _agent_for_all(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("interrupts"), list) and "agent" in data:
            filled = [{"agent": data["agent"], **one} if isinstance(one, dict) else one for one in data["interrupts"]]
            return {**data, "interrupts": filled}
        return data

    def value(self) -> PauseRequest:
        """Raises: TooLarge."""
        return PauseRequest(
            run=self.run,
            agent=Agent(name=self.agent.name, version=self.agent.version),
            framework=self.framework,
            framework_version=self.framework_version,
            run_state=_state_bytes(self.state),
            interrupts=tuple(interrupt.value() for interrupt in self.interrupts),
        )


class ClaimIn(_In):
    agents: Annotated[list[Name], Field(min_length=1, max_length=100)]
    worker: Word
    pause_id: str | None = None
    wait: Annotated[float, Field(ge=0, le=60)] = 0


class HeartbeatIn(_In):
    fence: int


class FinishIn(_In):
    fence: int
    outcome: Literal["finished", "paused_again", "failed"]
    final_output: Any = None
    error: Prose | None = None
    retry: bool = False
    next_pause: PauseIn | None = None

    @model_validator(mode="after")
    def _next_goes_with_paused_again(self) -> "FinishIn":
        if (self.next_pause is not None) != (self.outcome == "paused_again"):
            message = "`next_pause` goes with the outcome paused_again, and only with it"
            raise ValueError(message)
        return self


class EffectStartIn(_In):
    pause_id: str
    fence: int
    review_id: str
    digest: str


class EffectEndIn(_In):
    effect_id: str
    pause_id: str
    fence: int
    status: Literal["succeeded", "failed"]
    result: Any = None
    error: Prose | None = None


class OutcomeIn(_In):
    status: Literal["succeeded", "failed"]
    result: Any = None
    error: Prose | None = None


def read(model: type[Model], value: Json) -> Model:
    """The value as this model. Raises: InvalidInput with every fault."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InvalidInput([Fault(_path(fault["loc"]), _sentence(fault["msg"])) for fault in error.errors()]) from None


def _path(parts: tuple[int | str, ...]) -> str:
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path or "body"


def _sentence(message: str) -> str:
    return message.removeprefix("Value error, ")


def _action(action: ActionIn) -> Action:
    return Action(tool=action.tool, arguments=action.arguments, schema=action.arguments_schema, summary=action.summary)


def _question(question: QuestionIn) -> Question:
    return Question(prompt=question.prompt, options=tuple(question.options), answer_schema=question.answer_schema)


def _state_bytes(state: Json) -> bytes:
    data = json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    if len(data) > MAX_RUN_STATE:
        part = "state"
        raise TooLarge(part, MAX_RUN_STATE)
    return data


def state_json(data: bytes) -> Json:
    """The run state as it was submitted."""
    return json.loads(data.decode("utf-8", "surrogatepass"))


def iso(at: datetime | None) -> str | None:
    """UTC with milliseconds and a Z."""
    return None if at is None else at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def fingerprint(body: Json) -> str:
    """The digest by which a repeated body is known; equal bodies in any key order are equal."""
    return digest_of(json.dumps(body, sort_keys=True, separators=(",", ":")).encode())
