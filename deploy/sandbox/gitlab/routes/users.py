"""The sender, the instance, and the members of a project."""

from flask import Response, jsonify

from deploy.sandbox.gitlab.errors import not_found
from deploy.sandbox.gitlab.shapes.accounts import current_user_json, member_json, user_json
from deploy.sandbox.gitlab.shapes.projects import project_json
from deploy.sandbox.gitlab.state import Project
from deploy.sandbox.gitlab.web import allow, api_blueprint, core, page, user

blueprint = api_blueprint("users", __name__)


@blueprint.get("/user")
@allow(0)
def get_user() -> Response:
    """Show whose token this is."""
    return jsonify(current_user_json(core().state, user()))


@blueprint.get("/users/<int:user_id>")
@allow(0)
def get_user_by_id(user_id: int) -> Response:
    """Show an account."""
    found = next((one for one in core().state.users.values() if one.id == user_id), None)
    if found is None:
        raise not_found("User")
    return jsonify(user_json(core().state, found))


@blueprint.get("/version")
@blueprint.get("/metadata")
@allow(0)
def get_version() -> Response:
    """Show what this GitLab is."""
    version = core().options.version
    return jsonify(
        {
            "version": version,
            "revision": "0000000000a",
            "kas": {"enabled": False, "externalUrl": None, "externalK8sProxyUrl": None, "version": None},
            "enterprise": False,
        }
    )


@blueprint.get("/projects/<project_id>")
@allow(0)
def get_project(project: Project) -> Response:
    """Show a project."""
    return jsonify(project_json(core().state, project))


@blueprint.get("/projects/<project_id>/members/all")
@allow(0)
def list_members(**_: Project) -> Response:
    """List who has access, inherited or not."""
    members = [one for one in core().state.users.values() if one.access_level > 0]
    return page(members, lambda one: member_json(core().state, one))


@blueprint.get("/projects/<project_id>/members/all/<int:user_id>")
@allow(0)
def get_member(user_id: int, **_: Project) -> Response:
    """Show a member; 404 for who is none."""
    members = (one for one in core().state.users.values() if one.access_level > 0)
    found = next((one for one in members if one.id == user_id), None)
    if found is None:
        raise not_found()
    return jsonify(member_json(core().state, found))
