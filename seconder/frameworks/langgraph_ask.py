"""`ask`: a question to people from a node or tool of a graph, with an answer of a known kind."""

from collections.abc import Sequence
from typing import Any

from langgraph.types import interrupt
from pydantic import TypeAdapter

from seconder.errors import Unanswered

QUESTION = "seconder:question"  # the `type` of the interrupt's value


def ask(prompt: str, *, options: Sequence[str] = (), schema: Any = None) -> Any:
    """What a person answered: text, one of `options`, or a value of `schema` (a JSON Schema, or a type to validate as).

    The node runs again from its top when the answer is there, as after every `interrupt`.

    Raises: Unanswered where it was rejected, cancelled, or nobody answered in time.
    """
    typed = None if schema is None or isinstance(schema, dict) else TypeAdapter(schema)
    answer_schema = schema if typed is None else typed.json_schema()
    said = interrupt({"type": QUESTION, "prompt": prompt, "options": list(options), "answer_schema": answer_schema})
    if said["kind"] != "answered":
        raise Unanswered(said["kind"], said["why"])
    return said["answer"] if typed is None else typed.validate_python(said["answer"])
