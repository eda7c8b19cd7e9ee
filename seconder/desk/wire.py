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
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from seconder.action import Action, Json, digest_of
from seconder.desk.exact import check_depth, check_exact
from seconder.desk.fields import (
    MAX_PROSE,
    Address,
    DecisionWord,
    Moment,
    Name,
    Prose,
    Share,
    Word,
    plain,
)
from seconder.desk.submit import Once, PauseRequest
from seconder.errors import Fault, InvalidInput, NotCanonical, TooLarge
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

MAX_KEY = 255  # characters of an idempotency key
MAX_FAULTS = 50  # named in one refusal
MAX_PATH = 300  # characters


class Body(BaseModel):
    """What a caller sends; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", strict=False, populate_by_name=True)


class AgentIn(Body):
    name: Name
    version: Annotated[str, Field(max_length=200), AfterValidator(plain)] | None = None


def _agent(value: object) -> object:
    return {"name": value} if isinstance(value, str) else value


AgentField = Annotated[AgentIn, BeforeValidator(_agent, json_schema_input_type=AgentIn | Name)]


class ActionIn(Body):
    """`arguments_schema` is JSON Schema 2020-12."""

    tool: Word
    arguments: dict[str, Any]
    arguments_schema: dict[str, Any] | None = None
    summary: Prose | None = None


class QuestionIn(Body):
    prompt: Annotated[str, Field(min_length=1, max_length=MAX_PROSE), AfterValidator(plain)]
    options: Annotated[list[Prose], Field(max_length=100)] = []
    answer_schema: dict[str, Any] | None = None


class StateIn(Body):
    value: Any
    state_schema: dict[str, Any] | None = Field(None, alias="schema")


class RequesterIn(Body):
    slack_user: Annotated[str, Field(pattern=r"^[UW][A-Z0-9]{2,}$", max_length=64)] | None = None
    email: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$", max_length=320), AfterValidator(plain)] | None = None
    name: Word | None = None


class ContextIn(Body):
    """A fact (`label`, `text`), a message (`author`, `text`) or a link (`label`, `url`)."""

    kind: Literal["fact", "message", "link"] | None = None
    label: Prose = Field("", validation_alias=AliasChoices("label", "title", "author", "name"))
    text: Prose = Field("", validation_alias=AliasChoices("text", "value", "message", "content"))
    url: Annotated[str, Field(max_length=3000, pattern=r"^https?://"), AfterValidator(plain)] | None = Field(
        None, validation_alias=AliasChoices("url", "link")
    )


class InterruptIn(Body):
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
    environment: Annotated[str, Field(max_length=100), AfterValidator(plain)] | None = None
    risk: Share | None = None
    confidence: Share | None = None
    call_id: Word | None = None
    allowed_decisions: list[DecisionWord] = []
    deadline: Moment | None = None
    callback_url: Address | None = None

    @model_validator(mode="before")
    @classmethod
    def _exact(cls, data: Any) -> Any:
        check_exact(data)
        return data

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
            deadline=self.deadline,
            callback_url=self.callback_url,
        )


class PauseIn(Body):
    """A stopped run with its state; the interrupts' agent defaults to the pause's."""

    run: Word
    framework: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(plain)]
    framework_version: Annotated[str, Field(min_length=1, max_length=100), AfterValidator(plain)]
    agent: AgentField
    state: Any
    interrupts: Annotated[list[InterruptIn], Field(min_length=1, max_length=MAX_INTERRUPTS)]

    @model_validator(mode="before")
    @classmethod
    def _agent_for_all(cls, data: Any) -> Any:
        if isinstance(data, dict):
            check_exact({name: value for name, value in data.items() if name != "state"})
        if isinstance(data, dict) and isinstance(data.get("interrupts"), list) and "agent" in data:
            filled = [{"agent": data["agent"], **one} if isinstance(one, dict) else one for one in data["interrupts"]]
            return {**data, "interrupts": filled}
        return data

    def value(self) -> PauseRequest:
        """Raises: TooLarge, NotCanonical."""
        return PauseRequest(
            run=self.run,
            agent=Agent(name=self.agent.name, version=self.agent.version),
            framework=self.framework,
            framework_version=self.framework_version,
            run_state=_state_bytes(self.state),
            interrupts=tuple(interrupt.value() for interrupt in self.interrupts),
        )


def read(model: type[Model], value: Json) -> Model:
    """The value as this model. Raises: InvalidInput with every fault."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise InvalidInput(
            [Fault(path_of(fault["loc"]), sentence_of(fault["msg"])) for fault in faults[:MAX_FAULTS]]
        ) from None


def path_of(parts: tuple[int | str, ...]) -> str:
    """A place in a body, as in `interrupts[0].action.arguments`."""
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path[:MAX_PATH] or "body"


def sentence_of(message: str) -> str:
    """A fault in words, without the library's prefix."""
    return message.removeprefix("Value error, ")


def _action(action: ActionIn) -> Action:
    return Action(tool=action.tool, arguments=action.arguments, schema=action.arguments_schema, summary=action.summary)


def _question(question: QuestionIn) -> Question:
    return Question(prompt=question.prompt, options=tuple(question.options), answer_schema=question.answer_schema)


def _state_bytes(state: Json) -> bytes:
    check_depth(state, "state")
    try:
        text = json.dumps(state, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError) as error:
        raise NotCanonical([Fault("state", f"has no JSON form: {error}")]) from None
    data = text.encode("utf-8", "surrogatepass")
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


def once(key: str | None, body: Json) -> Once | None:
    """What makes a submission with this idempotency key count once. Raises: InvalidInput."""
    if key is None:
        return None
    if not 1 <= len(key) <= MAX_KEY or not key.isprintable():
        raise InvalidInput([Fault("Idempotency-Key", f"send 1 to {MAX_KEY} printable characters")])
    return Once(key=key, body_digest=fingerprint(body))


def fingerprint(body: Json) -> str:
    """The digest by which a repeated body is known; equal bodies in any key order are equal."""
    return digest_of(json.dumps(body, sort_keys=True, separators=(",", ":")).encode())
