"""GitHub Apps: themselves, their installations and their tokens."""

from flask import Response, jsonify

from deploy.sandbox.github.auth import issue_token
from deploy.sandbox.github.errors import ApiError, not_found
from deploy.sandbox.github.shapes.accounts import app_json, installation_json, installation_token_json
from deploy.sandbox.github.shapes.repositories import repository_json
from deploy.sandbox.github.state import GitHubApp, User
from deploy.sandbox.github.web import actor, api_blueprint, body, core, page

blueprint = api_blueprint("apps", __name__)


@blueprint.get("/app")
def get_app() -> Response:
    """Show the App whose JWT this is."""
    return jsonify(app_json(core().state, require_app()))


@blueprint.get("/app/installations")
def list_installations() -> Response:
    """List the App's installations: here always one."""
    app = require_app()
    return page([app], lambda one: installation_json(core().state, one, _account()))


@blueprint.get("/app/installations/<int:installation_id>")
def get_installation(installation_id: int) -> Response:
    """Show an installation."""
    app = require_app()
    if installation_id != app.installation_id:
        raise not_found()
    return jsonify(installation_json(core().state, app, _account()))


@blueprint.get("/repos/<owner>/<repo>/installation")
def get_repository_installation(owner: str, repo: str) -> Response:
    """Show the installation that covers a repository."""
    app = require_app()
    repository = core().state.repositories.get(f"{owner}/{repo}".lower())
    if repository is None:
        raise not_found()
    return jsonify(installation_json(core().state, app, repository.owner))


@blueprint.post("/app/installations/<int:installation_id>/access_tokens")
def create_token(installation_id: int) -> tuple[Response, int]:
    """Make an installation token, good for an hour."""
    app = require_app()
    if installation_id != app.installation_id:
        raise not_found()
    wanted = body()
    known = {repository.name for repository in core().state.repositories.values()}
    if not set(wanted.get("repositories") or ()) <= known:
        raise ApiError(
            422,
            "There is at least one repository that does not exist or is not accessible to the parent "
            "installation.",
        )
    token = issue_token(core().state, app, wanted.get("permissions"), wanted.get("repositories"))
    return jsonify(installation_token_json(token)), 201


@blueprint.get("/installation/repositories")
def list_repositories() -> Response:
    """List what an installation token can see."""
    token = actor().token
    if token is None:
        raise ApiError(
            403, "You must authenticate with an installation access token in order to list repositories."
        )
    names = token.repositories
    shown = [one for one in core().state.repositories.values() if names is None or one.name in names]
    return page(shown, lambda one: repository_json(core().state, one), wrap="repositories")


def require_app() -> GitHubApp:
    """Return the App of a JWT; raises ApiError 401 for any other kind of token."""
    app = actor().app
    if app is None or not actor().is_app_itself:
        raise ApiError(401, "A JSON web token could not be decoded")
    return app


def _account() -> User:
    repositories = core().state.repositories.values()
    return next((repository.owner for repository in repositories), next(iter(core().state.users.values())))
