"""Check recorded requests and answers against GitHub's own OpenAPI description.

One check takes well under a millisecond for most requests, so a flow test can watch every request it causes:

    spec = GitHubSpec.load()
    sandbox.observers.append(spec.check)
    ...
    assert spec.violations == []

The validators of `openapi-core` (openapi-schema-validator) are used directly, one per operation and kept; its
full request pipeline costs 10 to 15 ms a request. `test_github_spec.py` holds the two against each other.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from deploy.sandbox.recording import RecordedRequest

SPECS = Path(__file__).resolve().parents[2] / "../shared/forge/specs"
STRICT_SPEC = SPECS / "github-bot-strict.json"
WEBHOOK_SPEC = SPECS / "github-webhooks-subset.json"
MISSING = f"{SPECS.name}: the official specifications are not beside the repository (../shared/forge/specs)"

# Path parameters that hold slashes, which the description's templates do not say.
_MULTI_SEGMENT = ("path", "basehead", "ref", "tree_sha")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path, with its validators."""

    path: str
    pattern: re.Pattern[str]
    parameters: Mapping[tuple[str, str], Mapping[str, Any]]
    body: Any
    body_is_required: bool


@dataclass(slots=True)
class GitHubSpec:
    """Collect what is wrong with requests; each instance has its own list."""

    violations: list[str] = field(default_factory=list)

    @staticmethod
    def is_available() -> bool:
        """Tell whether the specifications lie beside the repository."""
        return STRICT_SPEC.exists()

    @classmethod
    def load(cls) -> "GitHubSpec":
        """Make a spec with no violations; the files are read once per process."""
        _operations()
        return cls()

    def check(self, request: RecordedRequest) -> None:
        """Add what is wrong with a request to `violations`."""
        self.violations += [
            f"{request.method} {request.path}: {problem}" for problem in self.problems(request)
        ]

    def problems(self, request: RecordedRequest) -> list[str]:
        """List what is wrong with a request."""
        return list(_problems(request))


def response_problems(request: RecordedRequest, *, schema_of: str | None = None) -> list[str]:
    """List what is wrong with a JSON answer by the schema of its operation and status.

    `schema_of` names a component schema to use instead.
    """
    operation, _ = _find(request.method, request.path)
    if schema_of:
        pointer = f"#/components/schemas/{schema_of}"
    else:
        responses = _document(STRICT_SPEC)["paths"][operation.path][request.method.lower()]["responses"]
        if str(request.status) not in responses:
            return [f"status {request.status} is not described for {request.method} {operation.path}"]
        base = _pointer("paths", operation.path, request.method.lower(), "responses", str(request.status))
        if "content" not in responses[str(request.status)]:
            return []
        pointer = f"{base}/content/application~1json/schema"
    return _describe(_validator(STRICT_SPEC, pointer), json.loads(request.response_body))


def webhook_problems(event: str, payload: Mapping[str, Any]) -> list[str]:
    """List what is wrong with a webhook's payload."""
    action = payload.get("action")
    name = f"{event}-{action}".replace("_", "-") if action else event
    described = _document(WEBHOOK_SPEC)["events"]
    if name not in described:
        return [f"the description has no event {name}"]
    return _describe(_validator(WEBHOOK_SPEC, described[name]["schema"]["$ref"]), payload)


def _problems(request: RecordedRequest) -> Iterator[str]:
    try:
        operation, in_path = _find(request.method, request.path)
    except LookupError as error:
        yield str(error)
        return
    for (place, name), parameter in operation.parameters.items():
        values = (
            [value for key, value in request.query if key == name] if place == "query" else [in_path[name]]
        )
        if parameter.get("required") and not values:
            yield f"{place} parameter {name} is missing"
        for value in values:
            yield from (f"{place} parameter {name}: {text}" for text in _parameter_problems(parameter, value))
    for name in {key for key, _ in request.query} - {
        name for place, name in operation.parameters if place == "query"
    }:
        yield f"query parameter {name} is not described"
    yield from _body_problems(operation, request)


def _body_problems(operation: Operation, request: RecordedRequest) -> Iterator[str]:
    if operation.body is None or (not request.body and not operation.body_is_required):
        return
    try:
        decoded = json.loads(request.body)
    except ValueError:
        yield "the body is not JSON"
        return
    yield from _describe(operation.body, decoded)


def _parameter_problems(parameter: Mapping[str, Any], text: str) -> list[str]:
    schema = parameter["schema"]
    value: object = text
    if schema.get("type") == "integer":
        if not re.fullmatch(r"-?\d+", text):
            return [f"{text!r} is not an integer"]
        value = int(text)
    return [error.message for error in _schema_validator(json.dumps(schema)).iter_errors(value)]


def _find(method: str, path: str) -> tuple[Operation, dict[str, str]]:
    for operation in _operations().get(method, ()):
        found = operation.pattern.fullmatch(path)
        if found:
            return operation, {name: unquote(value) for name, value in found.groupdict().items()}
    raise LookupError(f"{method} {path} is not in the description")


@lru_cache
def _operations() -> dict[str, list[Operation]]:
    document = _document(STRICT_SPEC)
    operations: dict[str, list[Operation]] = {}
    # Templates with fewer parameters first: /pulls/comments/{id} before /pulls/{number}/...
    for path in sorted(document["paths"], key=lambda path: (path.count("{"), path.endswith("}"))):
        for method, described in document["paths"][path].items():
            if method in ("get", "post", "put", "patch", "delete"):
                operations.setdefault(method.upper(), []).append(
                    _operation(document, path, method, described)
                )
    return operations


def _operation(
    document: Mapping[str, Any], path: str, method: str, described: Mapping[str, Any]
) -> Operation:
    parameters = [_resolve(document, parameter) for parameter in described.get("parameters", [])]
    content = described.get("requestBody", {}).get("content", {})
    pointer = f"{_pointer('paths', path, method)}/requestBody/content/application~1json/schema"
    return Operation(
        path=path,
        pattern=re.compile(
            re.sub(
                r"\\\{(\w+)\\\}",
                lambda found: f"(?P<{found[1]}>{'.+' if found[1] in _MULTI_SEGMENT else '[^/]+'})",
                re.escape(path),
            )
        ),
        parameters={(parameter["in"], parameter["name"]): parameter for parameter in parameters},
        body=_validator(STRICT_SPEC, pointer) if "application/json" in content else None,
        body_is_required=described.get("requestBody", {}).get("required", False),
    )


def _resolve(document: Mapping[str, Any], parameter: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" not in parameter:
        return parameter
    found: Any = document
    for step in parameter["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    resolved: Mapping[str, Any] = found
    return resolved


def _pointer(*steps: str) -> str:
    return "#/" + "/".join(step.replace("~", "~0").replace("/", "~1") for step in steps)


@lru_cache
def _document(path: Path) -> Any:
    return json.loads(path.read_text(), object_hook=_as_meant)


def _as_meant(schema: dict[str, Any]) -> dict[str, Any]:
    """Repair what the letter of OpenAPI 3.0 does not allow, though GitHub means it.

    Null in an enum beside `nullable: true`; a discriminator over alternatives of which one is an array.
    """
    schema.pop("discriminator", None)
    if schema.get("nullable") is True and "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema


@lru_cache
def _registry(path: Path) -> Any:
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    return Registry().with_resource(path.name, DRAFT202012.create_resource(_document(path)))


@lru_cache
def _validator(path: Path, pointer: str) -> Any:
    from openapi_schema_validator import OAS30Validator, OAS31Validator

    # The webhooks are described in OpenAPI 3.1 (type lists), the REST API in 3.0 (nullable).
    kind = OAS31Validator if path == WEBHOOK_SPEC else OAS30Validator
    return kind(
        {"$ref": f"{path.name}{pointer}"}, registry=_registry(path), format_checker=kind.FORMAT_CHECKER
    )


@lru_cache
def _schema_validator(schema: str) -> Any:
    from openapi_schema_validator import OAS30Validator

    return OAS30Validator(json.loads(schema), format_checker=OAS30Validator.FORMAT_CHECKER)


def _describe(validator: Any, value: object) -> list[str]:
    problems = []
    for error in validator.iter_errors(value):
        where = "/".join(str(step) for step in error.absolute_path) or "body"
        problems.append(f"{where}: {error.message[:300]}")
        problems += [f"{where}: {cause.message[:300]}" for cause in (error.context or ())[:6]]
    return problems
