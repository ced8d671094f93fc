"""Pull requests, their files and commits, and the diff of two commits."""

from flask import Response, jsonify, request

from deploy.sandbox.diffs import diff_between
from deploy.sandbox.github import lifecycle
from deploy.sandbox.github.changes import (
    fork_point,
    patch_is_shown,
    pull_counts,
    pull_diff,
    refuse_large_diff,
)
from deploy.sandbox.github.errors import ApiError, not_found
from deploy.sandbox.github.shapes.commits import commit_json, comparison_json
from deploy.sandbox.github.shapes.pulls import full_pull_json, pull_json
from deploy.sandbox.github.shapes.reviews import file_json
from deploy.sandbox.github.state import Pull, Repository
from deploy.sandbox.github.web import actor, allow, api_blueprint, body, core, page, text, wants

FILES_MAX = 3_000  # https://docs.github.com/rest/pulls/pulls#list-pull-requests-files
COMMITS_MAX = 250  # https://docs.github.com/rest/pulls/pulls#list-commits-on-a-pull-request
COMPARE_FILES_MAX = 300  # https://docs.github.com/rest/commits/commits#compare-two-commits

blueprint = api_blueprint("pulls", __name__)


@blueprint.get("/repos/<owner>/<repo>/pulls")
@allow("pull_requests:read")
def list_pulls(repository: Repository) -> Response:
    """List pull requests, newest first."""
    wanted = request.args.get("state", "open")
    head, base = request.args.get("head"), request.args.get("base")
    pulls = [
        pull
        for pull in reversed(repository.pulls)
        if wanted in (pull.state, "all")
        and (not head or head == f"{(pull.fork_owner or repository.owner).login}:{pull.head_ref}")
        and (not base or base == pull.base_ref)
    ]
    return page(pulls, lambda pull: pull_json(core().state, repository, pull))


@blueprint.get("/repos/<owner>/<repo>/pulls/<int:pull_number>")
@allow("pull_requests:read")
def get_pull(repository: Repository, pull: Pull) -> Response:
    """Show a pull request, or its diff if the Accept header asks for that."""
    if wants("diff"):
        diff = pull_diff(repository, pull)
        refuse_large_diff(diff)
        return text(diff.data, "diff")
    return jsonify(full_pull_json(core().state, repository, pull, pull_counts(repository, pull)))


@blueprint.patch("/repos/<owner>/<repo>/pulls/<int:pull_number>")
@allow("pull_requests:write")
def update_pull(repository: Repository, pull: Pull) -> Response:
    """Change title, state or base branch."""
    wanted, user = body(), actor().user
    if "base" in wanted and repository.git.branch_head(wanted["base"]) is None:
        problem = f"Proposed base branch '{wanted['base']}' was not found"
        error = {"message": problem, "resource": "PullRequest", "field": "base", "code": "invalid"}
        raise ApiError(422, "Validation Failed", errors=[error])
    if "base" in wanted:
        lifecycle.retarget(core(), repository, pull, wanted["base"], user)
    if "title" in wanted:
        lifecycle.retitle(core(), repository, pull, wanted["title"], user)
    if wanted.get("state", pull.state) != pull.state:
        change = lifecycle.close if wanted["state"] == "closed" else lifecycle.reopen
        change(core(), repository, pull, user)
    return jsonify(full_pull_json(core().state, repository, pull, pull_counts(repository, pull)))


@blueprint.get("/repos/<owner>/<repo>/pulls/<int:pull_number>/files")
@allow("pull_requests:read")
def list_files(repository: Repository, pull: Pull) -> Response:
    """List changed files; beyond 3,000 they are silently left out."""
    files = pull_diff(repository, pull).files[:FILES_MAX]
    return page(
        files,
        lambda file: file_json(
            core().state, repository, pull.head_sha, file, with_patch=patch_is_shown(file)
        ),
    )


@blueprint.get("/repos/<owner>/<repo>/pulls/<int:pull_number>/commits")
@allow("pull_requests:read")
def list_commits(repository: Repository, pull: Pull) -> Response:
    """List the commits of a pull request, oldest first."""
    commits = repository.git.commits(pull.base_sha, pull.head_sha)[:COMMITS_MAX]
    return page(commits, lambda commit: commit_json(core().state, repository, commit))


@blueprint.get("/repos/<owner>/<repo>/compare/<path:basehead>")
@allow("contents:read")
def compare(repository: Repository, basehead: str) -> Response:
    """Compare two commits from their merge base, or give that diff as text."""
    base_name, separator, head_name = basehead.partition("...")
    base, head = repository.git.resolve(base_name), repository.git.resolve(head_name)
    if not separator or base is None or head is None:
        raise not_found()
    start = fork_point(repository, base, head)
    diff = diff_between(repository.git.path, start, head)
    if wants("diff"):
        refuse_large_diff(diff)
        return text(diff.data, "diff")
    git = repository.git
    ahead, behind = git.commits(base, head), git.commits(head, base)
    files = diff.files[:COMPARE_FILES_MAX] if request.args.get("page", 1, int) == 1 else ()
    shaped = [
        file_json(core().state, repository, head, file, with_patch=patch_is_shown(file)) for file in files
    ]
    return jsonify(
        comparison_json(
            core().state,
            repository,
            basehead,
            base=base,
            fork_point=start,
            ahead=ahead[-COMMITS_MAX:],
            behind=len(behind),
        )
        | {"total_commits": len(ahead), "ahead_by": len(ahead), "files": shaped}
    )
