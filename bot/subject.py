"""What a reviewer looks at and may edit: an action's arguments, or the fields of an agent's state."""

from collections.abc import Mapping
from dataclasses import dataclass

from seconder.action import Action, Json
from seconder.review import Kind, Review

_STATE = "state"


@dataclass(frozen=True, slots=True)
class Subject:
    """Named values and their JSON Schema; `nested` if they are the fields of one argument called state."""

    fields: Mapping[str, Json]
    schema: Mapping[str, Json]
    nested: bool = False

    def arguments(self, fields: Mapping[str, Json]) -> dict[str, Json]:
        """The action's arguments when the fields are `fields`."""
        return {_STATE: dict(fields)} if self.nested else dict(fields)

    def of(self, action: Action) -> Mapping[str, Json]:
        """The fields of the same kind of action with other arguments."""
        state = action.arguments.get(_STATE) if self.nested else action.arguments
        return state if isinstance(state, Mapping) else action.arguments


def _in_order(action: Action, review: Review) -> dict[str, Json]:
    """The arguments as the rule lists its fields, then as the schema does: canonical bytes keep no order."""
    properties = (action.schema or {}).get("properties")
    known = [*review.verdict.fields, *(properties if isinstance(properties, Mapping) else ())]
    names = [name for name in dict.fromkeys([*known, *action.arguments]) if name in action.arguments]
    return {name: action.arguments[name] for name in names}


def subject_of(review: Review) -> Subject:
    """The subject of `review`; a question has none, so its fields are empty."""
    action = review.action
    if action is None:
        return Subject({}, {})
    if review.interrupt.kind is not Kind.STATE_EDIT or review.interrupt.action is not None:
        return Subject(_in_order(action, review), action.schema or {})
    state, schema = action.arguments[_STATE], action.schema or {}
    if isinstance(state, Mapping):
        return Subject(state, schema, nested=True)
    return Subject({_STATE: state}, {"properties": {_STATE: schema}})
