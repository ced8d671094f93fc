"""The pages that people look at."""

from flask import Blueprint, Response, render_template

from deploy.sandbox.github.changes import pull_diff
from deploy.sandbox.github.errors import ApiError, not_found
from deploy.sandbox.github.page.view import latest_marks, pull_state, view_pull
from deploy.sandbox.github.state import Pull, Repository
from deploy.sandbox.github.web import core, find_pull

blueprint = Blueprint("page", __name__)


@blueprint.get("/healthz")
def healthz() -> dict[str, str]:
    """Say that it runs."""
    return {"status": "ok"}


@blueprint.get("/")
def index() -> str:
    """List repositories and their pull requests, newest first."""
    shown = [
        (
            repository,
            [
                (pull, pull_state(pull), latest_marks(repository, pull.head_sha))
                for pull in _newest(repository)
            ],
        )
        for repository in core().state.repositories.values()
    ]
    return render_template("index.html", repositories=shown)


@blueprint.get("/<owner>/<repo>/pull/<int:number>")
def show_pull(owner: str, repo: str, number: int) -> str:
    """Show a pull request with its conversation and its diff."""
    repository, pull = _find(owner, repo, number)
    return render_template("pull.html", repository=repository, pull=pull, view=view_pull(repository, pull))


@blueprint.get("/<owner>/<repo>/pull/<int:number>.diff")
def show_diff(owner: str, repo: str, number: int) -> Response:
    """Show a pull request's diff as git wrote it."""
    repository, pull = _find(owner, repo, number)
    return Response(pull_diff(repository, pull).data, content_type="text/plain; charset=utf-8")


@blueprint.after_request
def _forbid_everything_but_styles(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    )
    return response


@blueprint.errorhandler(ApiError)
def _error_page(error: ApiError) -> tuple[str, int]:
    return render_template("error.html", error=error), error.status


def _newest(repository: Repository) -> list[Pull]:
    return list(reversed(repository.pulls))


def _find(owner: str, repo: str, number: int) -> tuple[Repository, Pull]:
    repository = core().state.repositories.get(f"{owner}/{repo}".lower())
    if repository is None:
        raise not_found()
    return repository, find_pull(repository, number)
