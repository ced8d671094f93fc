"""What is in a repository: files, blobs, comparisons, and the statuses of its commits."""

import base64
import hashlib

from flask import Response, jsonify, request

from deploy.sandbox.diffs import merge_base
from deploy.sandbox.git import GitError, TreeEntry
from deploy.sandbox.gitlab import statuses
from deploy.sandbox.gitlab.auth import REPORTER
from deploy.sandbox.gitlab.changes import changes_between, list_limited
from deploy.sandbox.gitlab.errors import invalid_params, not_found
from deploy.sandbox.gitlab.shapes.commits import change_json, commit_json, status_json
from deploy.sandbox.gitlab.state import Project
from deploy.sandbox.gitlab.web import allow, api_blueprint, core, decode, flag, page, params, user

blueprint = api_blueprint("repository", __name__)

_REPOSITORY = "/projects/<project_id>/repository"
_FILE = f"{_REPOSITORY}/files/<file_path>"
_BLOB = f"{_REPOSITORY}/blobs/<sha>"
DEVELOPER = 30


@blueprint.get(_FILE)
@allow(REPORTER)
def get_file(project: Project, file_path: str) -> Response:
    """Show a file; without a ref that of the default branch."""
    entry, commit, content = _read(project, file_path)
    return jsonify(
        {
            "file_name": entry.path.rpartition("/")[2],
            "file_path": entry.path,
            "size": len(content),
            "encoding": "base64",
            "content_sha256": hashlib.sha256(content).hexdigest(),
            "ref": request.args.get("ref", "HEAD"),
            "blob_id": entry.sha,
            "commit_id": commit,
            "last_commit_id": commit,
            "execute_filemode": entry.mode == "100755",
            "content": base64.b64encode(content).decode(),
        }
    )


@blueprint.get(f"{_FILE}/raw")
@allow(REPORTER)
def get_raw_file(project: Project, file_path: str) -> Response:
    """Show a file's bytes."""
    return Response(_read(project, file_path)[2], content_type="text/plain; charset=utf-8")


@blueprint.get(_BLOB)
@allow(REPORTER)
def get_blob(project: Project, sha: str) -> Response:
    """Show a blob."""
    content = _blob(project, sha)
    encoded = base64.b64encode(content).decode()
    return jsonify({"size": len(content), "encoding": "base64", "content": encoded, "sha": sha})


@blueprint.get(f"{_BLOB}/raw")
@allow(REPORTER)
def get_raw_blob(project: Project, sha: str) -> Response:
    """Show a blob's bytes."""
    return Response(_blob(project, sha), content_type="text/plain; charset=utf-8")


@blueprint.get(f"{_REPOSITORY}/commits/<sha>")
@allow(REPORTER)
def get_commit(project: Project, sha: str) -> Response:
    """Show a commit."""
    commit = project.git.commit_at(_resolve(project, decode(sha), "Commit"))
    return jsonify(commit_json(core().state, project, commit))


@blueprint.get(f"{_REPOSITORY}/compare")
@allow(REPORTER)
def compare(project: Project) -> Response:
    """Compare two revisions, from their merge base unless `straight` is true."""
    missing = [f"{name} is missing" for name in ("from", "to") if name not in request.args]
    if missing:
        raise invalid_params(*missing)
    start = _resolve(project, request.args["from"], "Ref")
    end = _resolve(project, request.args["to"], "Ref")
    base = start if flag(request.args.get("straight")) else merge_base(project.git.path, start, end)
    commits = project.git.commits(start, end)
    shaped = [commit_json(core().state, project, one) for one in commits]
    listed, overflow = list_limited(changes_between(project.git.path, base, end), core().options.diff_limits)
    unidiff = flag(request.args.get("unidiff"))
    return jsonify(
        {
            "commit": shaped[-1] if shaped else None,
            "commits": shaped,
            "diffs": [change_json(one, core().options, unidiff=unidiff) for one in listed],
            "compare_timeout": overflow,
            "compare_same_ref": start == end,
            "web_url": f"{core().state.web_url}/{project.path_with_namespace}/-/compare/{start}...{end}",
        }
    )


@blueprint.post("/projects/<project_id>/statuses/<sha>")
@allow(DEVELOPER)
def create_status(project: Project, sha: str) -> tuple[Response, int]:
    """Set a status of a commit."""
    status = statuses.set_status(core(), project, user(), sha, params())
    return jsonify(status_json(core().state, status)), 201


@blueprint.get(f"{_REPOSITORY}/commits/<sha>/statuses")
@allow(REPORTER)
def list_statuses(project: Project, sha: str) -> Response:
    """List the statuses of a commit: the latest of each name unless `all` is true."""
    commit = _resolve(project, sha, "Commit")
    found = [one for one in project.statuses if one.sha == commit]
    name = request.args.get("name")
    found = [one for one in found if name in (None, one.name)]
    if not flag(request.args.get("all")):
        found = list({(one.ref, one.name): one for one in found}.values())
    return page(found, lambda one: status_json(core().state, one))


def _read(project: Project, file_path: str) -> tuple[TreeEntry, str, bytes]:
    commit = _resolve(project, request.args.get("ref", "HEAD"), "Commit")
    entry = project.git.tree_entry(commit, decode(file_path))
    if entry is None or entry.kind != "blob":
        raise not_found("File")
    return entry, commit, project.git.blob(entry.sha)


def _blob(project: Project, sha: str) -> bytes:
    try:
        return project.git.blob(sha)
    except GitError:
        raise not_found("Blob") from None


def _resolve(project: Project, revision: str, what: str) -> str:
    sha = project.git.resolve(revision)
    if sha is None:
        raise not_found(what)
    return sha
