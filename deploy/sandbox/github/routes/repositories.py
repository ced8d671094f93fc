"""Accounts, repositories and what is in them."""

import base64

from flask import Response, jsonify, request

from deploy.sandbox.git import GitError
from deploy.sandbox.github.errors import ApiError, not_found
from deploy.sandbox.github.shapes.accounts import node_id, public_user_json
from deploy.sandbox.github.shapes.commits import commit_json, entry_json, file_content_json
from deploy.sandbox.github.shapes.pulls import permission_json
from deploy.sandbox.github.shapes.repositories import repository_json
from deploy.sandbox.github.state import Repository
from deploy.sandbox.github.web import actor, allow, api_blueprint, core, text, wants

TREE_MAX_ENTRIES = 100_000  # https://docs.github.com/rest/git/trees#get-a-tree

blueprint = api_blueprint("repositories", __name__)


@blueprint.get("/user")
def get_user() -> Response:
    """Show whose token this is; an App has no user of its own to show."""
    if actor().is_app_itself:
        raise ApiError(401, "Bad credentials")
    if actor().token:
        raise ApiError(403, "Resource not accessible by integration")
    return jsonify(public_user_json(core().state, actor().user))


@blueprint.get("/users/<login>")
def get_user_by_login(login: str) -> Response:
    """Show an account."""
    user = core().state.users.get(login.lower())
    if user is None:
        raise not_found()
    return jsonify(public_user_json(core().state, user))


@blueprint.get("/rate_limit")
def get_rate_limit() -> Response:
    """Show what is left of the hour."""
    headers = core().limits.headers(actor().user.login)
    rate = {
        name: int(headers[f"X-RateLimit-{name.title()}"]) for name in ("limit", "remaining", "used", "reset")
    }
    return jsonify({"resources": {"core": rate, "search": rate, "graphql": rate}, "rate": rate})


@blueprint.get("/repos/<owner>/<repo>")
@allow("metadata:read")
def get_repository(repository: Repository) -> Response:
    """Show a repository."""
    return jsonify(repository_json(core().state, repository, viewer=actor().user))


@blueprint.get("/repos/<owner>/<repo>/collaborators/<username>/permission")
@allow("metadata:read")
def get_permission(_repository: Repository, username: str) -> Response:
    """Show a user's permission; 404 for somebody who does not exist."""
    if not actor().app and actor().user.permission not in ("write", "admin"):
        raise ApiError(403, "Must have push access to view collaborator permission.")
    user = core().state.users.get(username.lower())
    if user is None or user.kind == "Organization":
        raise not_found()
    return jsonify(permission_json(core().state, user, user.permission))


@blueprint.get("/repos/<owner>/<repo>/commits/<path:ref>")
@allow("contents:read")
def get_commit(repository: Repository, ref: str) -> Response:
    """Show a commit."""
    return jsonify(commit_json(core().state, repository, repository.git.commit_at(_commit(repository, ref))))


@blueprint.get("/repos/<owner>/<repo>/contents/", defaults={"path": ""})
@blueprint.get("/repos/<owner>/<repo>/contents/<path:path>")
@allow("contents:read")
def get_contents(repository: Repository, path: str) -> Response:
    """Show a file, directory, symlink or submodule of a commit."""
    state, ref = core().state, request.args.get("ref") or repository.default_branch
    sha = repository.git.resolve(ref)
    if sha is None:
        raise ApiError(404, f"No commit found for the ref {ref}")
    path = path.strip("/")
    entry = repository.git.tree_entry(sha, path) if path else None
    if path and entry is None:
        raise not_found()
    if entry is None or entry.kind == "tree":
        entries = repository.git.list_tree(sha, path)
        return jsonify([entry_json(state, repository, ref, child) for child in entries])
    shaped = entry_json(state, repository, ref, entry)
    if entry.kind == "commit":
        return jsonify(shaped | {"submodule_git_url": f"{core().state.url}/submodule.git"})
    content = repository.git.blob(entry.sha)
    if wants("raw"):
        return text(content, "raw")
    if entry.mode == "120000":
        return jsonify(shaped | {"target": content.decode(errors="replace")})
    return jsonify(file_content_json(shaped, content))


@blueprint.get("/repos/<owner>/<repo>/git/blobs/<sha>")
@allow("contents:read")
def get_blob(repository: Repository, sha: str) -> Response:
    """Show a blob."""
    try:
        content = repository.git.blob(sha)
    except GitError:
        raise not_found() from None
    if wants("raw"):
        return text(content, "raw")
    url = f"{core().state.api_url}/repos/{repository.full_name}/git/blobs/{sha}"
    encoded = {"content": base64.encodebytes(content).decode(), "encoding": "base64"}
    blob_id = node_id("Blob", int(sha[:8], 16))
    return jsonify({"sha": sha, "node_id": blob_id, "size": len(content), "url": url} | encoded)


@blueprint.get("/repos/<owner>/<repo>/git/trees/<path:tree_sha>")
@allow("contents:read")
def get_tree(repository: Repository, tree_sha: str) -> Response:
    """Show a tree, with everything below it if `recursive` is given."""
    sha = repository.git.resolve(tree_sha, "tree")
    if sha is None:
        raise not_found()
    base = f"{core().state.api_url}/repos/{repository.full_name}/git"
    entries = repository.git.list_tree(sha, recursive="recursive" in request.args)
    shaped = []
    for entry in entries[:TREE_MAX_ENTRIES]:
        item: dict[str, object] = {
            "path": entry.path,
            "mode": entry.mode,
            "type": entry.kind,
            "sha": entry.sha,
        }
        if entry.kind == "blob":
            item |= {"size": entry.size, "url": f"{base}/blobs/{entry.sha}"}
        elif entry.kind == "tree":
            item["url"] = f"{base}/trees/{entry.sha}"
        shaped.append(item)
    is_cut = len(entries) > TREE_MAX_ENTRIES
    return jsonify({"sha": sha, "url": f"{base}/trees/{sha}", "tree": shaped, "truncated": is_cut})


def _commit(repository: Repository, ref: str) -> str:
    sha = repository.git.resolve(ref)
    if sha is None:
        raise ApiError(422, f"No commit found for SHA: {ref}")
    return sha
