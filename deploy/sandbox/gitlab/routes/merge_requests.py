"""Merge requests, their versions and their diffs."""

from flask import Response, jsonify, request

from deploy.sandbox.diffs import diff_between
from deploy.sandbox.gitlab import lifecycle
from deploy.sandbox.gitlab.auth import REPORTER
from deploy.sandbox.gitlab.changes import Listed, list_expanded, list_limited, version_changes
from deploy.sandbox.gitlab.errors import not_found
from deploy.sandbox.gitlab.shapes.commits import change_json, commit_json
from deploy.sandbox.gitlab.shapes.merge_requests import merge_request_json, version_json
from deploy.sandbox.gitlab.state import DiffVersion, MergeRequest, Project
from deploy.sandbox.gitlab.web import allow, api_blueprint, core, flag, page, params, user

blueprint = api_blueprint("merge_requests", __name__)

_ONE = "/projects/<project_id>/merge_requests/<int:iid>"


@blueprint.get("/projects/<project_id>/merge_requests")
@allow(REPORTER, job_token=True)
def list_merge_requests(project: Project) -> Response:
    """List merge requests, newest first."""
    state = request.args.get("state", "all")
    found = [one for one in reversed(project.merge_requests.values()) if state in ("all", one.state)]
    return page(found, lambda one: merge_request_json(core(), one, user()))


@blueprint.get(_ONE)
@allow(REPORTER, job_token=True)
def get_merge_request(merge_request: MergeRequest) -> Response:
    """Show a merge request."""
    return jsonify(merge_request_json(core(), merge_request, user()))


@blueprint.put(_ONE)
@allow(REPORTER)
def update_merge_request(merge_request: MergeRequest) -> Response:
    """Change title, target branch or state."""
    given = params()
    if "title" in given:
        lifecycle.retitle(core(), merge_request, given["title"], user())
    if "target_branch" in given:
        lifecycle.retarget(core(), merge_request, given["target_branch"], user())
    if given.get("state_event") == "close":
        lifecycle.close(core(), merge_request, user())
    elif given.get("state_event") == "reopen":
        lifecycle.reopen(core(), merge_request, user())
    return jsonify(merge_request_json(core(), merge_request, user()))


@blueprint.get(f"{_ONE}/versions")
@allow(REPORTER)
def list_versions(merge_request: MergeRequest) -> Response:
    """List the versions of the diff, newest first."""
    return page(_visible(merge_request), lambda one: version_json(merge_request, one))


@blueprint.get(f"{_ONE}/versions/<int:version_id>")
@allow(REPORTER)
def get_version(merge_request: MergeRequest, version_id: int) -> Response:
    """Show a version with its commits and changed files."""
    found = next((one for one in _visible(merge_request) if one.id == version_id), None)
    if found is None:
        raise not_found()
    project = merge_request.project
    commits = project.git.commits(found.start_sha, found.head_sha)
    listed = list_limited(version_changes(project, found), core().options.diff_limits)[0]
    shaped = version_json(merge_request, found) | {
        "commits": [commit_json(core().state, project, commit) for commit in reversed(commits)],
        "diffs": [_change(one) for one in listed],
    }
    return jsonify(shaped)


@blueprint.get(f"{_ONE}/diffs")
@allow(REPORTER)
def list_diffs(merge_request: MergeRequest) -> Response:
    """List changed files, a page at a time; nothing until the diff is ready."""
    if not core().options.has(15, 7):
        raise not_found()
    version = merge_request.version
    changes = version_changes(merge_request.project, version) if version else ()
    return page(list_expanded(changes, core().options), _change)


@blueprint.get(f"{_ONE}/changes")
@allow(REPORTER)
def get_changes(merge_request: MergeRequest) -> Response:
    """Show a merge request with its changed files; raw diffs are never said to be incomplete."""
    version = merge_request.version
    changes = version_changes(merge_request.project, version) if version else ()
    limits = core().options.diff_limits
    listed, overflow = list_limited(changes, limits)
    if flag(request.args.get("access_raw_diffs")):
        shown = changes[: limits.overflow_after_files]
        listed, overflow = [_raw(one) for one in list_expanded(shown, core().options)], False
    shaped = merge_request_json(core(), merge_request, user())
    return jsonify(shaped | {"changes": [_change(one) for one in listed], "overflow": overflow})


@blueprint.get(f"{_ONE}/raw_diffs")
@allow(REPORTER)
def get_raw_diffs(merge_request: MergeRequest) -> Response:
    """Show the diff as git writes it, all of it."""
    version = merge_request.version
    if not core().options.has(17, 9) or version is None:
        raise not_found()
    diff = diff_between(merge_request.project.git.path, version.base_sha, version.head_sha)
    return Response(diff.data, content_type="text/plain")


@blueprint.get(f"{_ONE}/commits")
@allow(REPORTER)
def list_commits(merge_request: MergeRequest) -> Response:
    """List the commits, newest first."""
    version, project = merge_request.version, merge_request.project
    commits = project.git.commits(version.start_sha, version.head_sha) if version else []
    return page(commits[::-1], lambda one: commit_json(core().state, project, one))


def _visible(merge_request: MergeRequest) -> list[DiffVersion]:
    shows_all = core().options.prepares_visibly
    return [one for one in reversed(merge_request.versions) if one.is_ready or shows_all]


def _raw(listed: Listed) -> Listed:
    return Listed(change=listed.change, too_large=listed.too_large)


def _change(listed: Listed) -> dict[str, object]:
    return change_json(listed, core().options, unidiff=flag(request.args.get("unidiff")))
