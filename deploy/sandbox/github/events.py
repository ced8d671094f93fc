"""Tell the webhooks what happened, in the shape of GitHub's payloads."""

from deploy.sandbox.github.changes import pull_counts
from deploy.sandbox.github.core import Core
from deploy.sandbox.github.outdated import find_standing
from deploy.sandbox.github.shapes.accounts import Json, node_id, organization_json, timestamp, user_json
from deploy.sandbox.github.shapes.checks import check_run_json
from deploy.sandbox.github.shapes.hooks import hook_json
from deploy.sandbox.github.shapes.pulls import comment_json, issue_json, pull_json, webhook_pull_json
from deploy.sandbox.github.shapes.repositories import repository_json
from deploy.sandbox.github.shapes.reviews import review_comment_json, review_json
from deploy.sandbox.github.state import (
    CheckRun,
    Comment,
    GitHubApp,
    Hook,
    Pull,
    Repository,
    Review,
    ReviewComment,
    User,
)
from deploy.sandbox.github.webhooks import new_guid

APP_EVENTS = (
    "check_run",
    "issue_comment",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
)


def pull_request(
    core: Core, repository: Repository, pull: Pull, action: str, sender: User, **more: object
) -> None:
    """Send a pull_request event; `more` is what the action adds (before and after, changes)."""
    if not _is_heard(core, "pull_request"):
        return
    shaped = webhook_pull_json(core.state, repository, pull, pull_counts(repository, pull))
    payload = {"action": action, "number": pull.number, "pull_request": shaped, **more}
    _announce(core, repository, "pull_request", payload, sender)


def issue_comment(
    core: Core, repository: Repository, comment: Comment, action: str, sender: User, **more: object
) -> None:
    """Send an issue_comment event, for issues and pull requests alike."""
    issue = issue_json(core.state, repository, repository.issues[comment.number])
    payload = {
        "action": action,
        "issue": issue,
        "comment": comment_json(core.state, repository, comment),
        **more,
    }
    _announce(core, repository, "issue_comment", payload, sender)


def review(
    core: Core, repository: Repository, pull: Pull, review: Review, action: str, *, sender: User
) -> None:
    """Send a pull_request_review event, whose states are in lower case."""
    shaped = review_json(core.state, repository, pull, review)
    shaped |= {
        "state": review.state.lower(),
        "body": review.body or None,
        "submitted_at": timestamp(review.submitted_at),
        "updated_at": timestamp(review.submitted_at),
    }
    payload = {"action": action, "review": shaped, "pull_request": pull_json(core.state, repository, pull)}
    _announce(core, repository, "pull_request_review", payload, sender)


def review_comment(
    core: Core,
    repository: Repository,
    pull: Pull,
    comment: ReviewComment,
    action: str,
    *,
    sender: User,
    **more: object,
) -> None:
    """Send a pull_request_review_comment event."""
    if not _is_heard(core, "pull_request_review_comment"):
        return
    standing = find_standing(repository, pull, comment)
    payload = {
        "action": action,
        "comment": review_comment_json(core.state, repository, pull, comment, standing),
        "pull_request": pull_json(core.state, repository, pull),
        **more,
    }
    _announce(core, repository, "pull_request_review_comment", payload, sender)


def submitted_review(core: Core, repository: Repository, pull: Pull, done: Review) -> None:
    """Send all that a submitted review causes: one event for itself and one for each comment."""
    review(core, repository, pull, done, "submitted", sender=done.user)
    for comment in pull.review_comments:
        if comment.review_id == done.id:
            review_comment(core, repository, pull, comment, "created", sender=done.user)


def check_run(core: Core, repository: Repository, run: CheckRun, action: str) -> None:
    """Send a check_run event, which only the App's own hook gets."""
    payload: Json = {"action": action, "check_run": check_run_json(core.state, repository, run)}
    _announce(core, repository, "check_run", payload, run.app.bot)


def push(
    core: Core, repository: Repository, branch: str, before: str | None, after: str, *, sender: User
) -> None:
    """Send a push event."""
    if not _is_heard(core, "push"):
        return
    zero = "0" * 40
    compare = f"{core.state.url}/{repository.full_name}/compare/{(before or zero)[:12]}...{after[:12]}"
    commits = [
        {
            "id": commit.sha,
            "tree_id": commit.tree,
            "distinct": True,
            "message": commit.message,
            "timestamp": commit.date.isoformat(),
            "url": f"{core.state.url}/{repository.full_name}/commit/{commit.sha}",
            "author": {"name": commit.author, "email": commit.email, "username": commit.author},
            "committer": {"name": commit.author, "email": commit.email, "username": commit.author},
            "added": [],
            "removed": [],
            "modified": [],
        }
        for commit in repository.git.commits(before, after)[-20:]
    ]
    payload = {
        "ref": f"refs/heads/{branch}",
        "before": before or zero,
        "after": after,
        "pusher": {"name": sender.login, "email": f"{sender.login}@sandbox.invalid"},
        "created": before is None,
        "deleted": False,
        "forced": before is not None and not repository.git.is_ancestor(before, after),
        "base_ref": None,
        "compare": compare,
        "commits": commits,
        "head_commit": commits[-1] if commits else None,
    }
    _announce(core, repository, "push", payload, sender)


def ping(core: Core, hook: Hook) -> None:
    """Send what GitHub sends when a hook was made."""
    shaped = hook_json(core.state, hook)
    app = app_of(core, hook)
    if app:
        shaped |= {"type": "App", "app_id": app.id}
    payload: Json = {"zen": "Keep it logically awesome.", "hook_id": hook.id, "hook": shaped}
    if hook.repository:
        repository = core.state.repository(hook.repository)
        payload |= {
            "repository": repository_json(core.state, repository),
            "sender": user_json(core.state, repository.owner),
        }
    if hook.url:
        core.outbox.send(hook, "ping", payload, guid=new_guid(), target=_target(core, hook, hook.id))


def app_of(core: Core, hook: Hook) -> GitHubApp | None:
    """Return the App that a hook belongs to: the sandbox's own hook is the first App's, if there is one."""
    return None if hook.repository else next(iter(core.state.apps.values()), None)


def _is_heard(core: Core, event: str) -> bool:
    """Tell whether any hook wants the event, before git is asked for what its payload needs."""
    return any(hook.url and (event in hook.events or "*" in hook.events) for hook in core.state.hooks)


def _target(core: Core, hook: Hook, repository_id: int) -> tuple[str, int]:
    app = app_of(core, hook)
    return ("integration", app.id) if app else ("repository", repository_id)


def _announce(core: Core, repository: Repository, event: str, payload: Json, sender: User) -> None:
    payload = payload | {
        "repository": repository_json(core.state, repository),
        "sender": user_json(core.state, sender),
    }
    if repository.owner.kind == "Organization":
        payload["organization"] = organization_json(core.state, repository.owner)
    guid = new_guid()  # one for all hooks that subscribe to the event
    for hook in core.state.hooks:
        app = app_of(core, hook)
        concerns = hook.repository in ("", repository.full_name) and (
            event in hook.events or "*" in hook.events
        )
        if not hook.url or not concerns or (event == "check_run" and not app):
            continue
        installation = (
            {
                "installation": {
                    "id": app.installation_id,
                    "node_id": node_id("Installation", app.installation_id),
                }
            }
            if app
            else {}
        )
        core.outbox.send(
            hook, event, payload | installation, guid=guid, target=_target(core, hook, repository.id)
        )
