"""JSON of check runs and commit statuses."""

from deploy.sandbox.github.shapes.accounts import Json, app_json, node_id, timestamp, user_json
from deploy.sandbox.github.state import CheckRun, CommitStatus, Repository, State


def check_run_json(state: State, repository: Repository, run: CheckRun) -> Json:
    """Shape a check run (schema check-run); pull requests from forks never appear in `pull_requests`."""
    repo_url = f"{state.api_url}/repos/{repository.full_name}"
    url = f"{repo_url}/check-runs/{run.id}"
    html_url = f"{state.url}/{repository.full_name}/runs/{run.id}"
    reference = {"id": repository.id, "url": repo_url, "name": repository.name}
    return {
        "id": run.id,
        "node_id": node_id("CheckRun", run.id),
        "head_sha": run.head_sha,
        "name": run.name,
        "external_id": run.external_id,
        "url": url,
        "html_url": html_url,
        "details_url": run.details_url or html_url,
        "status": run.status,
        "conclusion": run.conclusion,
        "started_at": timestamp(run.started_at),
        "completed_at": timestamp(run.completed_at),
        "output": {
            "title": run.title,
            "summary": run.summary,
            "text": run.text,
            "annotations_count": len(run.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": run.app.installation_id},
        "app": app_json(state, run.app),
        "pull_requests": [
            {
                "id": pull.id,
                "number": pull.number,
                "url": f"{repo_url}/pulls/{pull.number}",
                "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": reference},
                "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": reference},
            }
            for pull in repository.pulls
            if pull.head_sha == run.head_sha and pull.fork_owner is None
        ],
    }


def annotation_json(
    state: State, repository: Repository, run: CheckRun, annotation: dict[str, object]
) -> Json:
    """Shape an annotation (schema check-annotation)."""
    optional = dict.fromkeys(("start_column", "end_column", "title", "raw_details"))
    href = f"{state.url}/{repository.full_name}/blob/{run.head_sha}/{annotation['path']}"
    return optional | annotation | {"blob_href": href}


def status_json(state: State, repository: Repository, status: CommitStatus) -> Json:
    """Shape a commit status (schema status)."""
    return {
        "url": f"{state.api_url}/repos/{repository.full_name}/statuses/{status.sha}",
        "avatar_url": f"{state.url}/avatars/u/{status.creator.id}?v=4",
        "id": status.id,
        "node_id": node_id("StatusContext", status.id),
        "state": status.state,
        "description": status.description,
        "target_url": status.target_url,
        "context": status.context,
        "created_at": timestamp(status.created_at),
        "updated_at": timestamp(status.created_at),
        "creator": user_json(state, status.creator),
    }
