"""How a route is described in OpenAPI: the body it takes, what it answers, and the errors it may give."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from seconder.api.schemas import ErrorOut
from seconder.desk import reports, wire

REF = "#/components/schemas/{model}"
BODIES: tuple[type[BaseModel], ...] = (
    wire.InterruptIn,
    wire.PauseIn,
    reports.OutcomeIn,
    reports.ClaimIn,
    reports.HeartbeatIn,
    reports.FinishIn,
    reports.EffectStartIn,
    reports.EffectEndIn,
)
WHY = {
    401: "No valid token.",
    404: "There is no such thing, or it is another agent's.",
    409: "Not as things stand; `error.code` says why.",
    413: "A part is too large.",
    422: "Fields are wrong (`invalid`), or a value has no canonical form (`not_canonical`).",
}


def takes(model: type[BaseModel]) -> dict[str, Any]:
    """For `openapi_extra`: the body is this model as JSON."""
    schema = {"$ref": REF.format(model=model.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def gives(model: type[BaseModel], *errors: int, created: bool = False) -> dict[int | str, dict[str, Any]]:
    """For `responses`: the answer, the errors, and 401 which every call may give."""
    said: dict[int | str, dict[str, Any]] = {200: {"model": model}}
    if created:
        said = {
            200: {"model": model, "description": "The same Idempotency-Key with the same body came before."},
            201: {"model": model, "description": "Stored."},
        }
    return said | {status: {"model": ErrorOut, "description": WHY[status]} for status in (401, *errors, 422)}


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with the bodies' schemas and the tokens."""
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        _, bodies = models_json_schema([(model, "validation") for model in BODIES], ref_template=REF)
        parts = document.setdefault("components", {})
        parts["schemas"] = {**bodies["$defs"], **parts.get("schemas", {})}
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, calls in document["paths"].items():
            if path.startswith("/v1/"):
                for call in calls.values():
                    call["security"] = [{"token": []}]
        app.openapi_schema = document
    return app.openapi_schema
