"""What happens to a pull request: opened, pushed to, retargeted, closed, merged."""

from deploy.sandbox.github import events
from deploy.sandbox.github.core import Core
from deploy.sandbox.github.state import Issue, Pull, Repository, User, now


def open_issue(core: Core, repository: Repository, title: str, body: str, user: User) -> Issue:
    """Open a plain issue, which shares its numbers with pull requests."""
    moment = now()
    issue = Issue(
        id=core.state.next_id(),
        number=len(repository.issues) + 1,
        title=title,
        body=body,
        user=user,
        created_at=moment,
        updated_at=moment,
    )
    repository.issues[issue.number] = issue
    return issue


def open_pull(
    core: Core,
    repository: Repository,
    *,
    head: str,
    base: str,
    title: str,
    body: str,
    user: User,
    draft: bool,
    fork_owner: User | None,
) -> Pull:
    """Open a pull request and send `opened`."""
    head_sha, base_sha = repository.git.require_branch(head), repository.git.require_branch(base)
    moment = now()
    pull = Pull(
        id=core.state.next_id(),
        number=len(repository.issues) + 1,
        title=title,
        body=body,
        user=user,
        created_at=moment,
        updated_at=moment,
        head_ref=head,
        head_sha=head_sha,
        base_ref=base,
        base_sha=base_sha,
        fork_owner=fork_owner,
        draft=draft,
        known_heads=[head_sha],
    )
    repository.issues[pull.number] = pull
    repository.git.set_ref(f"refs/pull/{pull.number}/head", head_sha)
    events.pull_request(core, repository, pull, "opened", user)
    return pull


def pushed(
    core: Core,
    repository: Repository,
    branch: str,
    before: str | None,
    after: str,
    *,
    user: User,
    forced: bool,
) -> None:
    """Update the open pull requests of a branch and send `push` and `synchronize`.

    A push by force re-points their reviews to the new head.
    """
    if before == after:
        return
    events.push(core, repository, branch, before, after, sender=user)
    for pull in repository.pulls:
        if pull.head_ref != branch or pull.state != "open":
            continue
        pull.head_sha, pull.updated_at = after, now()
        pull.base_sha = repository.git.require_branch(pull.base_ref)
        pull.known_heads.append(after)
        for review in pull.reviews if forced else ():
            review.commit_id = after
        repository.git.set_ref(f"refs/pull/{pull.number}/head", after)
        events.pull_request(core, repository, pull, "synchronize", user, before=before, after=after)


def retarget(core: Core, repository: Repository, pull: Pull, base: str, user: User) -> None:
    """Change the base branch and send `edited` with `changes.base`."""
    changes = {"base": {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}}}
    pull.base_ref, pull.base_sha, pull.updated_at = base, repository.git.require_branch(base), now()
    events.pull_request(core, repository, pull, "edited", user, changes=changes)


def retitle(core: Core, repository: Repository, pull: Pull, title: str, user: User) -> None:
    """Change the title and send `edited`, which asks for no review."""
    changes = {"title": {"from": pull.title}}
    pull.title, pull.updated_at = title, now()
    events.pull_request(core, repository, pull, "edited", user, changes=changes)


def set_draft(core: Core, repository: Repository, pull: Pull, user: User, *, draft: bool) -> None:
    """Mark a pull request as draft or as ready."""
    pull.draft, pull.updated_at = draft, now()
    events.pull_request(core, repository, pull, "converted_to_draft" if draft else "ready_for_review", user)


def close(core: Core, repository: Repository, pull: Pull, user: User) -> None:
    """Close without merging."""
    pull.state, pull.closed_at, pull.updated_at = "closed", now(), now()
    events.pull_request(core, repository, pull, "closed", user)


def reopen(core: Core, repository: Repository, pull: Pull, user: User) -> None:
    """Open again, with whatever the branch has become."""
    pull.state, pull.closed_at, pull.updated_at = "open", None, now()
    pull.head_sha = repository.git.branch_head(pull.head_ref) or pull.head_sha
    pull.known_heads.append(pull.head_sha)
    events.pull_request(core, repository, pull, "reopened", user)


def merge(core: Core, repository: Repository, pull: Pull, user: User) -> str:
    """Merge with a merge commit and send `closed`; raises GitError on conflicts."""
    base, sha = repository.git.merge(
        pull.base_ref, pull.head_sha, message=f"Merge pull request #{pull.number}", author=user.login
    )
    moment = now()
    pull.state, pull.closed_at, pull.merged_at, pull.updated_at = "closed", moment, moment, moment
    pull.merged_by, pull.merge_commit_sha = user, sha
    events.push(core, repository, pull.base_ref, base, sha, sender=user)
    events.pull_request(core, repository, pull, "closed", user)
    return sha
