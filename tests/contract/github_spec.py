"""Check recorded requests and answers against GitHub's own OpenAPI description.

spec = GitHubSpec.load()
sandbox.observers.append(spec.check)
...
assert spec.violations == []
"""

import json
from collections.abc import Mapping
from typing import Any

from deploy.sandbox.recording import RecordedRequest
from tests.contract.openapi import MISSING, SPECS, Description, Spec, describe, point

__all__ = ["MISSING", "SPECS", "STRICT_SPEC", "GitHubSpec", "response_problems", "webhook_problems"]

STRICT_SPEC = SPECS / "github-bot-strict.json"
# Path parameters that hold slashes, which the description's templates do not say.
_REST = Description(file=STRICT_SPEC, slashes=("path", "basehead", "ref", "tree_sha"))
_WEBHOOKS = Description(file=SPECS / "github-webhooks-subset.json", is_openapi_3_1=True)


class GitHubSpec(Spec):
    """Collect what is wrong with requests to GitHub."""

    @staticmethod
    def is_available() -> bool:
        """Tell whether the specifications lie beside the repository."""
        return STRICT_SPEC.exists()

    @classmethod
    def load(cls) -> "GitHubSpec":
        """Make a spec with no violations; the files are read once per process."""
        return cls(_REST)


def response_problems(request: RecordedRequest, *, schema_of: str | None = None) -> list[str]:
    """List what is wrong with a JSON answer by the schema of its operation and status.

    `schema_of` names a component schema to use instead.
    """
    operation, _ = _REST.find(request.method, request.path)
    if schema_of:
        pointer = f"#/components/schemas/{schema_of}"
    else:
        method, status = request.method.lower(), str(request.status)
        responses = _REST.document["paths"][operation.path][method]["responses"]
        if status not in responses:
            return [f"status {status} is not described for {request.method} {operation.path}"]
        if "content" not in responses[status]:
            return []
        where = point("paths", operation.path, method, "responses", status)
        pointer = f"{where}/content/application~1json/schema"
    return describe(_REST.validator(pointer), json.loads(request.response_body))


def webhook_problems(event: str, payload: Mapping[str, Any]) -> list[str]:
    """List what is wrong with a webhook's payload."""
    action = payload.get("action")
    name = f"{event}-{action}".replace("_", "-") if action else event
    described = _WEBHOOKS.document["events"]
    if name not in described:
        return [f"the description has no event {name}"]
    return describe(_WEBHOOKS.validator(described[name]["schema"]["$ref"]), payload)
