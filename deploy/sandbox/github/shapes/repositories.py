"""JSON of repositories."""

from deploy.sandbox.github.shapes.accounts import Json, node_id, timestamp, user_json
from deploy.sandbox.github.state import Pull, Repository, State, User

_PLAIN_LINKS = (
    "contributors", "deployments", "downloads", "events", "forks", "hooks", "languages", "merges",
    "stargazers", "subscribers", "subscription", "tags", "teams",
)  # fmt: skip
_TEMPLATED_LINKS = {
    "archive": "/{archive_format}{/ref}",
    "assignees": "/assignees{/user}",
    "blobs": "/git/blobs{/sha}",
    "branches": "/branches{/branch}",
    "collaborators": "/collaborators{/collaborator}",
    "comments": "/comments{/number}",
    "commits": "/commits{/sha}",
    "compare": "/compare/{base}...{head}",
    "contents": "/contents/{+path}",
    "git_commits": "/git/commits{/sha}",
    "git_refs": "/git/refs{/sha}",
    "git_tags": "/git/tags{/sha}",
    "issue_comment": "/issues/comments{/number}",
    "issue_events": "/issues/events{/number}",
    "issues": "/issues{/number}",
    "keys": "/keys{/key_id}",
    "labels": "/labels{/name}",
    "milestones": "/milestones{/number}",
    "notifications": "/notifications{?since,all,participating}",
    "pulls": "/pulls{/number}",
    "releases": "/releases{/id}",
    "statuses": "/statuses/{sha}",
    "trees": "/git/trees{/sha}",
}
_ZEROES = (
    "forks", "forks_count", "network_count", "size", "stargazers_count", "subscribers_count",
    "watchers", "watchers_count",
)  # fmt: skip
MERGE_OPTIONS: Json = {
    "allow_auto_merge": False,
    "allow_update_branch": False,
    "delete_branch_on_merge": False,
    "merge_commit_message": "PR_TITLE",
    "merge_commit_title": "MERGE_MESSAGE",
    "squash_merge_commit_message": "COMMIT_MESSAGES",
    "squash_merge_commit_title": "COMMIT_OR_PR_TITLE",
    "use_squash_pr_title_as_default": False,
}


def repository_json(state: State, repository: Repository, *, viewer: User | None = None) -> Json:
    """Shape a repository (schemas full-repository and repository-webhooks)."""
    shaped = _repository(state, repository, repository.owner, fork=False)
    open_issues = sum(issue.state == "open" for issue in repository.issues.values())
    shaped |= {"open_issues": open_issues, "open_issues_count": open_issues}
    if viewer:
        shaped["permissions"] = {
            "admin": viewer.permission == "admin",
            "maintain": viewer.permission == "admin",
            "push": viewer.permission in ("admin", "write"),
            "triage": viewer.permission in ("admin", "write"),
            "pull": viewer.permission != "none",
        }
        if repository.owner.kind == "Organization":
            shaped["organization"] = user_json(state, repository.owner)
    return shaped


def head_repository_json(state: State, repository: Repository, pull: Pull) -> Json | None:
    """Shape the repository a pull request comes from: its own, a fork, or null for a fork that is gone."""
    if pull.fork_owner is None:
        return repository_json(state, repository)
    if pull.fork_deleted:
        return None
    return _repository(state, repository, pull.fork_owner, fork=True)


def _repository(state: State, repository: Repository, owner: User, *, fork: bool) -> Json:
    full_name = f"{owner.login}/{repository.name}"
    url, html_url = f"{state.api_url}/repos/{full_name}", f"{state.url}/{full_name}"
    number = repository.id + owner.id if fork else repository.id
    created = timestamp(repository.created_at)
    return {
        "id": number,
        "node_id": node_id("Repository", number),
        "name": repository.name,
        "full_name": full_name,
        "private": False,
        "owner": user_json(state, owner),
        "html_url": html_url,
        "description": None,
        "fork": fork,
        "url": url,
        **{f"{name}_url": f"{url}/{name}" for name in _PLAIN_LINKS},
        **{f"{name}_url": url + rest for name, rest in _TEMPLATED_LINKS.items()},
        "git_url": html_url.replace("http://", "git://") + ".git",
        "ssh_url": f"git@sandbox.invalid:{full_name}.git",
        "clone_url": f"{html_url}.git",
        "svn_url": html_url,
        "created_at": created,
        "updated_at": created,
        "pushed_at": created,
        "homepage": None,
        "language": None,
        "license": None,
        "mirror_url": None,
        "default_branch": repository.default_branch,
        "visibility": "public",
        "topics": [],
        "custom_properties": {},
        "has_issues": True,
        "has_projects": False,
        "has_downloads": True,
        "has_wiki": False,
        "has_pages": False,
        "has_discussions": False,
        "archived": False,
        "disabled": False,
        "allow_forking": True,
        "is_template": False,
        "web_commit_signoff_required": False,
        **dict.fromkeys(_ZEROES, 0),
        "open_issues": 0,
        "open_issues_count": 0,
    }
