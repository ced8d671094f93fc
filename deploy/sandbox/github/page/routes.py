"""The pages of the sandbox GitHub."""

from flask import Response, render_template

from deploy.sandbox.github.changes import pull_diff
from deploy.sandbox.github.errors import ApiError, not_found
from deploy.sandbox.github.page.view import summarize_pull, view_pull
from deploy.sandbox.github.state import Pull, Repository
from deploy.sandbox.github.web import core, find_pull
from deploy.sandbox.page.pages import page_blueprint
from deploy.sandbox.page.view import RepositoryView

blueprint = page_blueprint(__name__, "GitHub")


@blueprint.get("/")
def index() -> str:
    """List repositories and their pull requests, newest first."""
    shown = [
        RepositoryView(
            name=repository.full_name,
            pulls=[summarize_pull(repository, pull) for pull in reversed(repository.pulls)],
        )
        for repository in core().state.repositories.values()
    ]
    return render_template("index.html", repositories=shown)


@blueprint.get("/<owner>/<repo>/pull/<int:number>")
def show_pull(owner: str, repo: str, number: int) -> str:
    """Show a pull request with its conversation and its diff."""
    return render_template("pull.html", view=view_pull(*_find(owner, repo, number)))


@blueprint.get("/<owner>/<repo>/pull/<int:number>.diff")
def show_diff(owner: str, repo: str, number: int) -> Response:
    """Show a pull request's diff as git wrote it."""
    repository, pull = _find(owner, repo, number)
    return Response(pull_diff(repository, pull).data, content_type="text/plain; charset=utf-8")


@blueprint.errorhandler(ApiError)
def _error_page(error: ApiError) -> tuple[str, int]:
    return render_template("error.html", title=str(error), status=error.status), error.status


def _find(owner: str, repo: str, number: int) -> tuple[Repository, Pull]:
    repository = core().state.repositories.get(f"{owner}/{repo}".lower())
    if repository is None:
        raise not_found()
    return repository, find_pull(repository, number)
