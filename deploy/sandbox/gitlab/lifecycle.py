"""What happens to a merge request: opened, pushed to, retargeted, closed, merged."""

from collections.abc import Mapping

from deploy.sandbox.gitlab import events
from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.shapes.merge_requests import hook_labels_json
from deploy.sandbox.gitlab.state import DRAFT_PREFIX, MergeRequest, Note, Project, User, now
from deploy.sandbox.gitlab.versions import add_version


def open_merge_request(
    core: Core,
    project: Project,
    *,
    source: Project,
    source_branch: str,
    target_branch: str,
    title: str,
    description: str,
    user: User,
) -> MergeRequest:
    """Open a merge request and send `open`; its diff may come later."""
    head = project.git.require_branch(source_branch)
    project.git.require_branch(target_branch)
    moment = now()
    merge_request = MergeRequest(
        id=core.state.next_id(),
        iid=len(project.merge_requests) + 1,
        project=project,
        source=source,
        title=title,
        description=description,
        user=user,
        created_at=moment,
        updated_at=moment,
        source_branch=source_branch,
        target_branch=target_branch,
        head_sha=head,
    )
    project.merge_requests[merge_request.iid] = merge_request
    if source is not project:
        project.branches_of_forks.add(source_branch)
    project.git.set_ref(f"refs/merge-requests/{merge_request.iid}/head", head)
    add_version(core, merge_request, delay_s=core.options.prepare_s)
    events.merge_request(core, merge_request, "open", user)
    return merge_request


def pushed(core: Core, project: Project, branch: str, before: str | None, after: str, *, user: User) -> None:
    """Update the open merge requests of a branch and send `update` with the old revision."""
    if before == after:
        return
    for merge_request in project.merge_requests.values():
        if merge_request.source_branch != branch or merge_request.state != "opened":
            continue
        merge_request.head_sha = after
        project.git.set_ref(f"refs/merge-requests/{merge_request.iid}/head", after)
        add_version(core, merge_request)
        _say(core, merge_request, user, "added 1 commit")
        events.merge_request(core, merge_request, "update", user, old_revision=before)
        if merge_request.approved_by:
            merge_request.approved_by.clear()
            events.merge_request(
                core, merge_request, "unapproved", user, system_action="approvals_reset_on_push"
            )


def retarget(core: Core, merge_request: MergeRequest, branch: str, user: User) -> None:
    """Change the target branch."""
    merge_request.project.git.require_branch(branch)
    before, merge_request.target_branch = merge_request.target_branch, branch
    add_version(core, merge_request)
    _say(core, merge_request, user, f"changed target branch from `{before}` to `{branch}`")
    _updated(core, merge_request, user, {"target_branch": (before, branch)})


def retitle(core: Core, merge_request: MergeRequest, title: str, user: User) -> None:
    """Change the title, and with it perhaps whether this is a draft."""
    before, was_draft = merge_request.title, merge_request.draft
    merge_request.title = title
    changes: dict[str, tuple[object, object]] = {"title": (before, title)}
    if merge_request.draft != was_draft:
        _say(
            core,
            merge_request,
            user,
            f"marked this merge request as **{'draft' if not was_draft else 'ready'}**",
        )
        if core.options.has(14, 0):
            changes["draft"] = (was_draft, merge_request.draft)
    _updated(core, merge_request, user, changes)


def set_draft(core: Core, merge_request: MergeRequest, user: User, *, draft: bool) -> None:
    """Mark a merge request as draft or as ready, which is a change of its title."""
    if draft != merge_request.draft:
        bare = merge_request.title.partition(":")[2].strip() if merge_request.draft else merge_request.title
        retitle(core, merge_request, f"{DRAFT_PREFIX}{bare}" if draft else bare, user)


def change_labels(core: Core, merge_request: MergeRequest, labels: list[str], user: User) -> None:
    """Set the labels, which asks for no review."""
    before, merge_request.labels = hook_labels_json(merge_request), labels
    _updated(core, merge_request, user, {"labels": (before, hook_labels_json(merge_request))})


def close(core: Core, merge_request: MergeRequest, user: User) -> None:
    """Close without merging."""
    merge_request.state, merge_request.closed_at, merge_request.closed_by = "closed", now(), user
    _say(core, merge_request, user, "closed")
    events.merge_request(core, merge_request, "close", user, changes={"state_id": (1, 2)})


def reopen(core: Core, merge_request: MergeRequest, user: User) -> None:
    """Open again, with whatever the branch has become."""
    merge_request.state, merge_request.closed_at, merge_request.closed_by = "opened", None, None
    head = merge_request.project.git.branch_head(merge_request.source_branch)
    merge_request.head_sha = head or merge_request.head_sha
    add_version(core, merge_request)
    _say(core, merge_request, user, "reopened")
    events.merge_request(core, merge_request, "reopen", user, changes={"state_id": (2, 1)})


def merge(core: Core, merge_request: MergeRequest, user: User) -> str:
    """Merge with a merge commit and send `merge`; raises GitError on conflicts."""
    message = f"Merge branch '{merge_request.source_branch}' into '{merge_request.target_branch}'"
    _, sha = merge_request.project.git.merge(
        merge_request.target_branch, merge_request.head_sha, message=message, author=user.login
    )
    merge_request.state, merge_request.merged_at, merge_request.merged_by = "merged", now(), user
    merge_request.merge_commit_sha = sha
    _say(core, merge_request, user, "merged")
    events.merge_request(core, merge_request, "merge", user, changes={"state_id": (1, 3)})
    return sha


def approve(core: Core, merge_request: MergeRequest, user: User) -> None:
    """Approve, which sends `approved`."""
    merge_request.approved_by.append(user)
    _say(core, merge_request, user, "approved this merge request")
    events.merge_request(core, merge_request, "approved", user)


def unapprove(core: Core, merge_request: MergeRequest, user: User) -> None:
    """Take an approval back."""
    merge_request.approved_by.remove(user)
    _say(core, merge_request, user, "unapproved this merge request")
    events.merge_request(core, merge_request, "unapproved", user)


def _updated(
    core: Core, merge_request: MergeRequest, user: User, changes: Mapping[str, tuple[object, object]]
) -> None:
    merge_request.updated_at = now()
    events.merge_request(core, merge_request, "update", user, changes=changes)


def _say(core: Core, merge_request: MergeRequest, user: User, text: str) -> None:
    """Leave a system note, which stands among all others in every list."""
    moment = now()
    merge_request.updated_at = moment
    merge_request.notes.append(
        Note(
            id=core.state.next_id(),
            discussion_id=core.state.next_discussion_id(),
            kind=None,
            user=user,
            body=text,
            created_at=moment,
            updated_at=moment,
            system=True,
        )
    )
