"""What quick actions do, with the rights of who wrote the note."""

from collections.abc import Callable, Sequence

from deploy.sandbox.git import GitError
from deploy.sandbox.gitlab import lifecycle
from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.quick_actions import Command
from deploy.sandbox.gitlab.state import MergeRequest, QuickAction, User

DEVELOPER = 30


class NotApplicable(Exception):
    """The command makes no sense here, or its author may not give it."""


def execute(
    core: Core, merge_request: MergeRequest, user: User, commands: Sequence[Command]
) -> tuple[list[str], list[str]]:
    """Execute commands and return what was done and what could not be."""
    done, failed = [], []
    for command in commands:
        try:
            if user.access_level < DEVELOPER:
                raise NotApplicable
            done.append(_execute_one(core, merge_request, user, command))
        except (NotApplicable, GitError):
            failed.append(f"Could not apply {command.name} command.")
            continue
        merge_request.quick_actions.append(
            QuickAction(user=user, name=command.name, argument=command.argument)
        )
    return done, failed


def _execute_one(core: Core, merge_request: MergeRequest, user: User, command: Command) -> str:
    act = _ACTIONS.get(command.name)
    if act is None:
        return f"Applied the {command.name} command."
    return act(core, merge_request, user, command.argument)


def _merge(core: Core, merge_request: MergeRequest, user: User, _: str) -> str:
    # GitLab also wants the note to name the head (merge_request_diff_head_sha); that is no reason to let one pass.
    _require(merge_request.state == "opened" and not merge_request.draft)
    lifecycle.merge(core, merge_request, user)
    return "Merged this merge request."


def _close(core: Core, merge_request: MergeRequest, user: User, _: str) -> str:
    _require(merge_request.state == "opened")
    lifecycle.close(core, merge_request, user)
    return "Closed this merge request."


def _reopen(core: Core, merge_request: MergeRequest, user: User, _: str) -> str:
    _require(merge_request.state == "closed")
    lifecycle.reopen(core, merge_request, user)
    return "Reopened this merge request."


def _draft(core: Core, merge_request: MergeRequest, user: User, _: str) -> str:
    lifecycle.set_draft(core, merge_request, user, draft=True)
    return "Marked this merge request as a draft."


def _ready(core: Core, merge_request: MergeRequest, user: User, _: str) -> str:
    lifecycle.set_draft(core, merge_request, user, draft=False)
    return "Marked this merge request as ready."


def _approve(core: Core, merge_request: MergeRequest, user: User, _: str) -> str:
    _require(user not in merge_request.approved_by and merge_request.state == "opened")
    lifecycle.approve(core, merge_request, user)
    return "Approved the current merge request."


def _unapprove(core: Core, merge_request: MergeRequest, user: User, _: str) -> str:
    _require(user in merge_request.approved_by)
    lifecycle.unapprove(core, merge_request, user)
    return "Unapproved the current merge request."


def _title(core: Core, merge_request: MergeRequest, user: User, title: str) -> str:
    _require(bool(title))
    lifecycle.retitle(core, merge_request, title, user)
    return f'Changed the title to "{title}".'


def _target_branch(core: Core, merge_request: MergeRequest, user: User, branch: str) -> str:
    lifecycle.retarget(core, merge_request, branch, user)
    return f"Set target branch to {branch}."


def _label(core: Core, merge_request: MergeRequest, user: User, argument: str) -> str:
    added = [name.strip('~"') for name in argument.split()]
    _require(bool(added))
    lifecycle.change_labels(core, merge_request, [*dict.fromkeys(merge_request.labels + added)], user)
    return f"Added {' '.join(f'~{name}' for name in added)} label{'s' if len(added) > 1 else ''}."


def _unlabel(core: Core, merge_request: MergeRequest, user: User, argument: str) -> str:
    removed = [name.strip('~"') for name in argument.split()]
    left = [name for name in merge_request.labels if removed and name not in removed]
    lifecycle.change_labels(core, merge_request, left, user)
    return "Removed all labels." if not removed else f"Removed {', '.join(removed)}."


def _assign(core: Core, merge_request: MergeRequest, user: User, argument: str) -> str:
    merge_request.assignees = _people(core, user, argument)
    return "Assigned."


def _reviewer(core: Core, merge_request: MergeRequest, user: User, argument: str) -> str:
    merge_request.reviewers = _people(core, user, argument)
    return "Assigned as reviewer."


def _lock(_core: Core, merge_request: MergeRequest, _user: User, _: str) -> str:
    merge_request.locked = True
    return "Locked the discussion."


def _unlock(_core: Core, merge_request: MergeRequest, _user: User, _: str) -> str:
    merge_request.locked = False
    return "Unlocked the discussion."


def _people(core: Core, user: User, argument: str) -> list[User]:
    names = [name.removeprefix("@").lower() for name in argument.split()]
    people = [user if name == "me" else core.state.users.get(name) for name in names]
    found = [one for one in people if one]
    _require(bool(found))
    return found


def _require(condition: bool) -> None:
    if not condition:
        raise NotApplicable


_ACTIONS: dict[str, Callable[[Core, MergeRequest, User, str], str]] = {
    "approve": _approve,
    "assign": _assign,
    "assign_reviewer": _reviewer,
    "close": _close,
    "draft": _draft,
    "label": _label,
    "labels": _label,
    "lock": _lock,
    "merge": _merge,
    "ready": _ready,
    "remove_label": _unlabel,
    "reopen": _reopen,
    "request_review": _reviewer,
    "reviewer": _reviewer,
    "ship": _merge,
    "target_branch": _target_branch,
    "title": _title,
    "unapprove": _unapprove,
    "unlabel": _unlabel,
    "unlock": _unlock,
}
