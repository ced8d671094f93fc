"""JSON of projects."""

from deploy.sandbox.gitlab.shapes.accounts import Json, timestamp
from deploy.sandbox.gitlab.state import Project, State


def project_json(state: State, project: Project) -> Json:
    """Shape a project."""
    url = f"{state.web_url}/{project.path_with_namespace}"
    shaped: Json = {
        "id": project.id,
        "description": "",
        "name": project.path,
        "name_with_namespace": project.path_with_namespace.replace("/", " / "),
        "path": project.path,
        "path_with_namespace": project.path_with_namespace,
        "created_at": timestamp(project.created_at),
        "default_branch": project.default_branch,
        "tag_list": [],
        "topics": [],
        "ssh_url_to_repo": f"git@sandbox.invalid:{project.path_with_namespace}.git",
        "http_url_to_repo": f"{url}.git",
        "web_url": url,
        "readme_url": None,
        "forks_count": 0,
        "avatar_url": None,
        "star_count": 0,
        "last_activity_at": timestamp(project.created_at),
        "namespace": {
            "id": project.namespace_id,
            "name": project.namespace.rpartition("/")[2],
            "path": project.namespace.rpartition("/")[2],
            "kind": "group",
            "full_path": project.namespace,
            "parent_id": None,
            "avatar_url": None,
            "web_url": f"{state.web_url}/groups/{project.namespace}",
        },
        "visibility": "private",
        "archived": False,
        "merge_requests_enabled": True,
        "empty_repo": False,
    }
    if project.forked_from:
        parent = project.forked_from
        shaped["forked_from_project"] = {
            "id": parent.id,
            "path_with_namespace": parent.path_with_namespace,
            "web_url": f"{state.web_url}/{parent.path_with_namespace}",
        }
    return shaped


def hook_project_json(state: State, project: Project) -> Json:
    """Shape a project as webhooks do."""
    url = f"{state.web_url}/{project.path_with_namespace}"
    ssh_url = f"git@sandbox.invalid:{project.path_with_namespace}.git"
    return {
        "id": project.id,
        "name": project.path,
        "description": "",
        "web_url": url,
        "avatar_url": None,
        "git_ssh_url": ssh_url,
        "git_http_url": f"{url}.git",
        "namespace": project.namespace.rpartition("/")[2],
        "visibility_level": 0,
        "path_with_namespace": project.path_with_namespace,
        "default_branch": project.default_branch,
        "ci_config_path": None,
        "homepage": url,
        "url": ssh_url,
        "ssh_url": ssh_url,
        "http_url": f"{url}.git",
    }


def hook_repository_json(state: State, project: Project) -> Json:
    """Shape what webhooks call the repository."""
    shaped = hook_project_json(state, project)
    return {name: shaped[name] for name in ("name", "url", "description", "homepage")}
