"""Commit statuses."""

from typing import Any

from flask import Response, jsonify

from deploy.sandbox.github.errors import ApiError, invalid
from deploy.sandbox.github.shapes.accounts import node_id
from deploy.sandbox.github.shapes.checks import status_json
from deploy.sandbox.github.shapes.repositories import repository_json
from deploy.sandbox.github.state import CommitStatus, Repository, now
from deploy.sandbox.github.web import actor, allow, api_blueprint, body, core

# https://docs.github.com/rest/commits/statuses#create-a-commit-status
STATES = ("error", "failure", "pending", "success")
STATUSES_PER_CONTEXT = 1_000
DESCRIPTION_MAX_CHARACTERS = 140

blueprint = api_blueprint("statuses", __name__)


@blueprint.post("/repos/<owner>/<repo>/statuses/<sha>")
@allow("statuses:write")
def create_status(repository: Repository, sha: str) -> tuple[Response, int]:
    """Add a status to a commit."""
    wanted = body("state")
    if wanted["state"] not in STATES:
        raise invalid("Status", "state", f"state is not included in the list: {', '.join(STATES)}")
    if len(wanted.get("description") or "") > DESCRIPTION_MAX_CHARACTERS:
        raise invalid(
            "Status",
            "description",
            f"description is too long (maximum is {DESCRIPTION_MAX_CHARACTERS} characters)",
        )
    context = wanted.get("context") or "default"
    full = repository.git.resolve(sha)
    if full is None:
        raise ApiError(422, f"No commit found for SHA: {sha}")
    same = [one for one in repository.statuses if one.sha == full and one.context == context]
    if len(same) >= STATUSES_PER_CONTEXT:
        problem = "This SHA and context has reached the maximum number of statuses."
        raise ApiError(422, "Validation Failed", errors=[{"message": problem}])
    status = CommitStatus(
        id=core().state.next_id(),
        sha=full,
        creator=actor().user,
        context=context,
        state=wanted["state"],
        description=wanted.get("description"),
        target_url=wanted.get("target_url"),
        created_at=now(),
    )
    repository.statuses.append(status)
    return jsonify(status_json(core().state, repository, status)), 201


@blueprint.get("/repos/<owner>/<repo>/commits/<path:ref>/status")
@allow("statuses:read")
def get_combined_status(repository: Repository, ref: str) -> Response:
    """Combine the newest statuses of a commit into one state."""
    sha = repository.git.resolve(ref)
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {ref}")
    newest = list({one.context: one for one in repository.statuses if one.sha == sha}.values())
    states = {one.state for one in newest}
    combined = (
        "failure" if states & {"error", "failure"} else "success" if states == {"success"} else "pending"
    )
    repo_url = f"{core().state.api_url}/repos/{repository.full_name}"
    return jsonify(
        {
            "state": combined,
            "statuses": [_simple(status_json(core().state, repository, one)) for one in newest],
            "sha": sha,
            "total_count": len(newest),
            "repository": repository_json(core().state, repository),
            "commit_url": f"{repo_url}/commits/{sha}",
            "url": f"{repo_url}/commits/{sha}/status",
            "node_id": node_id("Status", int(sha[:8], 16)),
        }
    )


def _simple(shaped: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in shaped.items() if name != "creator"}
