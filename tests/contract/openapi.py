"""Check recorded requests and answers against an OpenAPI description.

One check takes well under a millisecond for most requests, so a flow test can watch every request it causes. The
validators of `openapi-core` (openapi-schema-validator) are used directly, one per operation and kept; its full
request pipeline costs 10 to 15 ms a request. `test_github_spec.py` holds the two against each other.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from deploy.sandbox.recording import RecordedRequest

SPECS = Path(__file__).resolve().parents[2] / "../shared/forge/specs"
MISSING = f"{SPECS.name}: the official specifications are not beside the repository (../shared/forge/specs)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One method of one path, with its validators."""

    path: str
    pattern: re.Pattern[str]
    parameters: Mapping[tuple[str, str], Mapping[str, Any]]
    body: Any
    body_is_required: bool


@dataclass(frozen=True, kw_only=True)
class Description:
    """An OpenAPI file; `prefix` stands before the paths of recorded requests, `slashes` are allowed to hold some."""

    file: Path
    prefix: str = ""
    slashes: tuple[str, ...] = ()
    is_openapi_3_1: bool = False

    @cached_property
    def document(self) -> Any:
        return json.loads(self.file.read_text(), object_hook=_as_meant)

    @cached_property
    def operations(self) -> dict[str, list[Operation]]:
        operations: dict[str, list[Operation]] = {}
        paths = self.document["paths"]
        # Templates with fewer parameters first: /pulls/comments/{id} before /pulls/{number}/...
        for path in sorted(paths, key=lambda path: (path.count("{"), path.endswith("}"))):
            for method, described in paths[path].items():
                if method in ("get", "post", "put", "patch", "delete"):
                    shared = paths[path].get("parameters", [])
                    operation = self._operation(path, method, described, shared)
                    operations.setdefault(method.upper(), []).append(operation)
        return operations

    def find(self, method: str, path: str) -> tuple[Operation, dict[str, str]]:
        """Find the operation of a request and its parameters in the path; raises LookupError."""
        for operation in self.operations.get(method, ()):
            found = operation.pattern.fullmatch(self.prefix + path)
            if found:
                return operation, {name: unquote(value) for name, value in found.groupdict().items()}
        raise LookupError(f"{method} {path} is not in the description")

    def validator(self, pointer: str) -> Any:
        """Make the validator of a schema, once."""
        return self._validators(pointer)

    @cached_property
    def _validators(self) -> Any:
        from openapi_schema_validator import OAS30Validator, OAS31Validator
        from referencing import Registry
        from referencing.jsonschema import DRAFT202012

        kind = OAS31Validator if self.is_openapi_3_1 else OAS30Validator
        resource = DRAFT202012.create_resource(self.document)
        registry = Registry().with_resource(self.file.name, resource)

        @cache
        def validator(pointer: str) -> Any:
            return kind(
                {"$ref": f"{self.file.name}{pointer}"}, registry=registry, format_checker=kind.FORMAT_CHECKER
            )

        return validator

    def _operation(
        self, path: str, method: str, described: Mapping[str, Any], shared: list[Mapping[str, Any]]
    ) -> Operation:
        parameters = [self._resolve(one) for one in (*shared, *described.get("parameters", []))]
        content = described.get("requestBody", {}).get("content", {})
        pointer = f"{point('paths', path, method)}/requestBody/content/application~1json/schema"
        return Operation(
            path=path,
            pattern=re.compile(
                re.sub(
                    r"\\\{(\w+)\\\}",
                    lambda found: f"(?P<{found[1]}>{'.+' if found[1] in self.slashes else '[^/]+'})",
                    re.escape(path),
                )
            ),
            parameters={(parameter["in"], parameter["name"]): parameter for parameter in parameters},
            body=self.validator(pointer) if "application/json" in content else None,
            body_is_required=described.get("requestBody", {}).get("required", False),
        )

    def _resolve(self, parameter: Mapping[str, Any]) -> Mapping[str, Any]:
        if "$ref" not in parameter:
            return parameter
        found: Any = self.document
        for step in parameter["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        resolved: Mapping[str, Any] = found
        return resolved


@dataclass(slots=True)
class Spec:
    """Collect what is wrong with requests; each instance has its own list."""

    description: Description
    violations: list[str] = field(default_factory=list)

    def check(self, request: RecordedRequest) -> None:
        """Add what is wrong with a request to `violations`."""
        self.violations += [
            f"{request.method} {request.path}: {problem}" for problem in self.problems(request)
        ]

    def problems(self, request: RecordedRequest) -> list[str]:
        """List what is wrong with a request."""
        return list(_problems(self.description, request))


def describe(validator: Any, value: object) -> list[str]:
    """List what a validator finds wrong with a value."""
    problems = []
    for error in validator.iter_errors(value):
        where = "/".join(str(step) for step in error.absolute_path) or "body"
        problems.append(f"{where}: {error.message[:300]}")
        problems += [f"{where}: {cause.message[:300]}" for cause in (error.context or ())[:6]]
    return problems


def point(*steps: str) -> str:
    """Write a JSON pointer."""
    return "#/" + "/".join(step.replace("~", "~0").replace("/", "~1") for step in steps)


def _problems(description: Description, request: RecordedRequest) -> Iterator[str]:
    try:
        operation, in_path = description.find(request.method, request.path)
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
    yield from describe(operation.body, decoded)


def _parameter_problems(parameter: Mapping[str, Any], text: str) -> list[str]:
    schema = parameter["schema"]
    value: object = text
    if schema.get("type") == "integer":
        if not re.fullmatch(r"-?\d+", text):
            return [f"{text!r} is not an integer"]
        value = int(text)
    elif schema.get("type") == "boolean":
        if text.lower() not in ("true", "false"):
            return [f"{text!r} is not a boolean"]
        value = text.lower() == "true"
    return [error.message for error in _schema_validator(json.dumps(schema)).iter_errors(value)]


def _as_meant(schema: dict[str, Any]) -> dict[str, Any]:
    """Repair what the letter of OpenAPI 3.0 does not allow, though the forges mean it.

    Null in an enum beside `nullable: true`; a discriminator over alternatives of which one is an array.
    """
    schema.pop("discriminator", None)
    if schema.get("nullable") is True and "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    return schema


@lru_cache
def _schema_validator(schema: str) -> Any:
    from openapi_schema_validator import OAS30Validator

    return OAS30Validator(json.loads(schema), format_checker=OAS30Validator.FORMAT_CHECKER)
