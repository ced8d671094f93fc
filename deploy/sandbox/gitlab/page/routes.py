"""The pages of the sandbox GitLab."""

from flask import Response, render_template

from deploy.sandbox.diffs import diff_between
from deploy.sandbox.gitlab.errors import ApiError, not_found
from deploy.sandbox.gitlab.page.view import summarize_merge_request, view_merge_request
from deploy.sandbox.gitlab.state import MergeRequest
from deploy.sandbox.gitlab.web import core
from deploy.sandbox.page.pages import page_blueprint
from deploy.sandbox.page.view import RepositoryView

blueprint = page_blueprint(__name__, "GitLab")


@blueprint.get("/")
def index() -> str:
    """List projects and their merge requests, newest first."""
    shown = [
        RepositoryView(
            name=project.path_with_namespace,
            pulls=[summarize_merge_request(one) for one in reversed(project.merge_requests.values())],
        )
        for project in core().state.projects.values()
        if project.forked_from is None
    ]
    return render_template("index.html", repositories=shown)


@blueprint.get("/<path:project>/-/merge_requests/<int:iid>")
def show_merge_request(project: str, iid: int) -> str:
    """Show a merge request with its conversation and its diff."""
    return render_template("pull.html", view=view_merge_request(_find(project, iid)))


@blueprint.get("/<path:project>/-/merge_requests/<int:iid>.diff")
def show_diff(project: str, iid: int) -> Response:
    """Show a merge request's diff as git wrote it."""
    merge_request = _find(project, iid)
    version = merge_request.version
    if version is None:
        raise not_found()
    diff = diff_between(merge_request.project.git.path, version.base_sha, version.head_sha)
    return Response(diff.data, content_type="text/plain; charset=utf-8")


@blueprint.errorhandler(ApiError)
def _error_page(error: ApiError) -> tuple[str, int]:
    return render_template("error.html", title="Not Found", status=error.status), error.status


def _find(path: str, iid: int) -> MergeRequest:
    project = core().state.projects.get(path.lower())
    found = project.merge_requests.get(iid) if project else None
    if found is None:
        raise not_found()
    return found
