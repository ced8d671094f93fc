"""Check runs, which only Apps may write."""

from flask import Response, jsonify, request

from deploy.sandbox.github import checking, events
from deploy.sandbox.github.errors import ApiError, not_found
from deploy.sandbox.github.shapes.checks import annotation_json, check_run_json
from deploy.sandbox.github.state import CheckRun, GitHubApp, Repository, now
from deploy.sandbox.github.web import actor, allow, api_blueprint, body, core, page

blueprint = api_blueprint("checks", __name__)


@blueprint.post("/repos/<owner>/<repo>/check-runs")
@allow("checks:write")
def create_check_run(repository: Repository) -> tuple[Response, int]:
    """Create a check run on a commit."""
    app = _require_app()
    wanted = body("name", "head_sha")
    checking.check_wanted(wanted)
    if repository.git.resolve(wanted["head_sha"]) != wanted["head_sha"]:
        raise ApiError(422, f"No commit found for SHA: {wanted['head_sha']}")
    run = CheckRun(
        id=core().state.next_id(),
        app=app,
        name=wanted["name"],
        head_sha=wanted["head_sha"],
        status="queued",
        conclusion=None,
        external_id="",
        details_url="",
        started_at=now(),
        completed_at=None,
    )
    repository.check_runs[run.id] = run
    checking.apply_wanted(run, wanted)
    events.check_run(core(), repository, run, "completed" if run.status == "completed" else "created")
    return jsonify(check_run_json(core().state, repository, run)), 201


@blueprint.get("/repos/<owner>/<repo>/check-runs/<int:run_id>")
@allow("checks:read")
def get_check_run(repository: Repository, run_id: int) -> Response:
    """Show a check run."""
    return jsonify(check_run_json(core().state, repository, _run(repository, run_id)))


@blueprint.patch("/repos/<owner>/<repo>/check-runs/<int:run_id>")
@allow("checks:write")
def update_check_run(repository: Repository, run_id: int) -> Response:
    """Change a check run; annotations are added to those that are there."""
    run = _run(repository, run_id)
    app = _require_app()
    if app is not run.app:
        raise ApiError(
            403,
            f"Invalid app_id `{app.id}` - check run can only be modified by the GitHub App that created it.",
        )
    wanted = body()
    checking.check_wanted(wanted)
    was_completed = run.status == "completed"
    checking.apply_wanted(run, wanted)
    if run.status == "completed" and not was_completed:
        events.check_run(core(), repository, run, "completed")
    return jsonify(check_run_json(core().state, repository, run))


@blueprint.get("/repos/<owner>/<repo>/check-runs/<int:run_id>/annotations")
@allow("checks:read")
def list_annotations(repository: Repository, run_id: int) -> Response:
    """List the annotations of a check run."""
    run = _run(repository, run_id)
    return page(run.annotations, lambda one: annotation_json(core().state, repository, run, one))


@blueprint.get("/repos/<owner>/<repo>/commits/<path:ref>/check-runs")
@allow("checks:read")
def list_check_runs(repository: Repository, ref: str) -> Response:
    """List the check runs of a commit: the latest of each name unless `filter` is all."""
    sha = repository.git.resolve(ref)
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {ref}")
    name, status = request.args.get("check_name"), request.args.get("status")
    runs = [run for run in repository.check_runs.values() if run.head_sha == sha and name in (None, run.name)]
    if request.args.get("filter", "latest") == "latest":
        runs = list({(run.app.id, run.name): run for run in runs}.values())
    runs = [run for run in runs if status in (None, run.status)]
    return page(runs, lambda run: check_run_json(core().state, repository, run), wrap="check_runs")


def _require_app() -> GitHubApp:
    app = actor().app
    if app is None:
        raise ApiError(403, "You must authenticate via a GitHub App.")
    return app


def _run(repository: Repository, run_id: int) -> CheckRun:
    if run_id not in repository.check_runs:
        raise not_found()
    return repository.check_runs[run_id]
