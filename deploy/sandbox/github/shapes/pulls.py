"""JSON of pull requests, issues and their conversation."""

from deploy.sandbox.github.shapes.accounts import (
    Json,
    app_json,
    author_association,
    node_id,
    timestamp,
    user_json,
)
from deploy.sandbox.github.shapes.repositories import MERGE_OPTIONS, head_repository_json, repository_json
from deploy.sandbox.github.state import Comment, Issue, Pull, Reaction, Repository, State, User

REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def pull_json(state: State, repository: Repository, pull: Pull) -> Json:
    """Shape a pull request as a list shows it (schema pull-request-simple)."""
    repo_url = f"{state.api_url}/repos/{repository.full_name}"
    url, issue_url = f"{repo_url}/pulls/{pull.number}", f"{repo_url}/issues/{pull.number}"
    html_url = f"{state.url}/{repository.full_name}/pull/{pull.number}"
    links = {
        "self": url,
        "html": html_url,
        "issue": issue_url,
        "comments": f"{issue_url}/comments",
        "review_comments": f"{url}/comments",
        "review_comment": f"{repo_url}/pulls/comments{{/number}}",
        "commits": f"{url}/commits",
        "statuses": f"{repo_url}/statuses/{pull.head_sha}",
    }
    head_owner = pull.fork_owner or repository.owner
    return {
        "url": url,
        "id": pull.id,
        "node_id": node_id("PullRequest", pull.id),
        "html_url": html_url,
        "diff_url": f"{html_url}.diff",
        "patch_url": f"{html_url}.patch",
        "issue_url": issue_url,
        "commits_url": links["commits"],
        "review_comments_url": links["review_comments"],
        "review_comment_url": links["review_comment"],
        "comments_url": links["comments"],
        "statuses_url": links["statuses"],
        "number": pull.number,
        "state": pull.state,
        "locked": False,
        "active_lock_reason": None,
        "title": pull.title,
        "user": user_json(state, pull.user),
        "body": pull.body or None,
        "labels": [label_json(state, repository, label) for label in pull.labels],
        "milestone": None,
        "created_at": timestamp(pull.created_at),
        "updated_at": timestamp(pull.updated_at),
        "closed_at": timestamp(pull.closed_at),
        "merged_at": timestamp(pull.merged_at),
        "merge_commit_sha": pull.merge_commit_sha,
        "assignee": None,
        "assignees": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "head": {
            "label": f"{head_owner.login}:{pull.head_ref}",
            "ref": pull.head_ref,
            "sha": pull.head_sha,
            "user": user_json(state, head_owner),
            "repo": head_repository_json(state, repository, pull),
        },
        "base": {
            "label": f"{repository.owner.login}:{pull.base_ref}",
            "ref": pull.base_ref,
            "sha": pull.base_sha,
            "user": user_json(state, repository.owner),
            "repo": repository_json(state, repository),
        },
        "_links": {name: {"href": link} for name, link in links.items()},
        "author_association": author_association(pull.user, repository),
        "auto_merge": None,
        "draft": pull.draft,
    }


def full_pull_json(state: State, repository: Repository, pull: Pull, counts: dict[str, int]) -> Json:
    """Shape a single pull request (schema pull-request); `counts` are those of its diff."""
    return pull_json(state, repository, pull) | {
        "merged": pull.merged_at is not None,
        "mergeable": None if pull.merged_at else True,
        "rebaseable": None if pull.merged_at else True,
        "mergeable_state": "unknown" if pull.merged_at else "draft" if pull.draft else "clean",
        "merged_by": user_json(state, pull.merged_by) if pull.merged_by else None,
        "comments": len(pull.comments),
        "review_comments": len(pull.review_comments),
        "maintainer_can_modify": pull.fork_owner is not None,
        **counts,
    }


def webhook_pull_json(state: State, repository: Repository, pull: Pull, counts: dict[str, int]) -> Json:
    """Shape a pull request of a pull_request event, which also carries the repository's merge options."""
    return full_pull_json(state, repository, pull, counts) | MERGE_OPTIONS


def issue_json(state: State, repository: Repository, issue: Issue) -> Json:
    """Shape an issue (schema issue); only a pull request has the key `pull_request`."""
    url = f"{state.api_url}/repos/{repository.full_name}/issues/{issue.number}"
    page = "pull" if isinstance(issue, Pull) else "issues"
    html_url = f"{state.url}/{repository.full_name}/{page}/{issue.number}"
    shaped: Json = {
        "url": url,
        "repository_url": f"{state.api_url}/repos/{repository.full_name}",
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": html_url,
        "id": issue.id,
        "node_id": node_id("Issue", issue.id),
        "number": issue.number,
        "title": issue.title,
        "user": user_json(state, issue.user),
        "labels": [label_json(state, repository, label) for label in issue.labels],
        "state": issue.state,
        "state_reason": None,
        "locked": False,
        "active_lock_reason": None,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": len(issue.comments),
        "created_at": timestamp(issue.created_at),
        "updated_at": timestamp(issue.updated_at),
        "closed_at": timestamp(issue.closed_at),
        "author_association": author_association(issue.user, repository),
        "body": issue.body or None,
        "reactions": reactions_json(f"{url}/reactions", issue.reactions),
        "performed_via_github_app": None,
    }
    if isinstance(issue, Pull):
        shaped["draft"] = issue.draft
        shaped["pull_request"] = {
            "url": f"{state.api_url}/repos/{repository.full_name}/pulls/{issue.number}",
            "html_url": html_url,
            "diff_url": f"{html_url}.diff",
            "patch_url": f"{html_url}.patch",
            "merged_at": timestamp(issue.merged_at),
        }
    return shaped


def comment_json(state: State, repository: Repository, comment: Comment) -> Json:
    """Shape a comment in the conversation (schema issue-comment)."""
    repo_url = f"{state.api_url}/repos/{repository.full_name}"
    url = f"{repo_url}/issues/comments/{comment.id}"
    page = "pull" if isinstance(repository.issues[comment.number], Pull) else "issues"
    return {
        "url": url,
        "html_url": f"{state.url}/{repository.full_name}/{page}/{comment.number}#issuecomment-{comment.id}",
        "issue_url": f"{repo_url}/issues/{comment.number}",
        "id": comment.id,
        "node_id": node_id("IssueComment", comment.id),
        "user": user_json(state, comment.user),
        "created_at": timestamp(comment.created_at),
        "updated_at": timestamp(comment.updated_at),
        "author_association": author_association(comment.user, repository),
        "body": comment.body,
        "reactions": reactions_json(f"{url}/reactions", comment.reactions),
        "performed_via_github_app": app_json(state, comment.app) if comment.app else None,
    }


def reaction_json(state: State, reaction: Reaction) -> Json:
    """Shape a reaction (schema reaction)."""
    return {
        "id": reaction.id,
        "node_id": node_id("Reaction", reaction.id),
        "user": user_json(state, reaction.user),
        "content": reaction.content,
        "created_at": timestamp(reaction.created_at),
    }


def reactions_json(url: str, reactions: list[Reaction]) -> Json:
    """Count reactions (schema reaction-rollup)."""
    contents = [reaction.content for reaction in reactions]
    return {"url": url, "total_count": len(contents)} | {name: contents.count(name) for name in REACTIONS}


def label_json(state: State, repository: Repository, name: str) -> Json:
    """Shape a label (schema label); its id is derived from its name."""
    number = int.from_bytes(name.encode()[:4], "big")
    return {
        "id": number,
        "node_id": node_id("Label", number),
        "url": f"{state.api_url}/repos/{repository.full_name}/labels/{name}",
        "name": name,
        "color": "ededed",
        "default": False,
        "description": None,
    }


def permission_json(state: State, user: User, permission: str) -> Json:
    """Shape a collaborator's permission (schema repository-collaborator-permission)."""
    flags = {
        "admin": permission == "admin",
        "maintain": permission == "admin",
        "push": permission in ("admin", "write"),
        "triage": permission in ("admin", "write"),
        "pull": permission != "none",
    }
    return {
        "permission": permission,
        "role_name": permission,
        "user": user_json(state, user) | {"permissions": flags, "role_name": permission},
    }
