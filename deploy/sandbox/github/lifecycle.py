"""What happens to a pull request: opened, pushed to, retargeted, closed, merged."""

from collections.abc import Mapping

from deploy.sandbox.git import FileContent, GitError
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
    head_sha, base_sha = _branch(repository, head), _branch(repository, base)
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


def commit(
    core: Core,
    repository: Repository,
    branch: str,
    files: Mapping[str, FileContent],
    *,
    message: str,
    user: User,
    start: str,
    renames: Mapping[str, str] | None,
) -> str:
    """Commit to a branch as a push of one commit."""
    git = repository.git
    before = git.branch_head(branch)
    parent = before or git.resolve(start)
    if parent is None and branch != repository.default_branch:
        raise GitError(f"cannot start branch {branch!r}: there is no revision {start!r}")
    sha = git.commit(branch, files, message=message, author=user.login, parent=parent, renames=renames)
    pushed(core, repository, branch, before, sha, user=user)
    return sha


def force_push(core: Core, repository: Repository, branch: str, sha: str, user: User) -> None:
    """Point a branch elsewhere; GitHub then re-points the reviews of its pull requests to the new head."""
    before = _branch(repository, branch)
    repository.git.set_ref(f"refs/heads/{branch}", sha)
    pushed(core, repository, branch, before, sha, user=user)
    for pull in repository.pulls:
        if pull.head_ref == branch and pull.state == "open":
            for review in pull.reviews:
                review.commit_id = sha


def pushed(
    core: Core, repository: Repository, branch: str, before: str | None, after: str, *, user: User
) -> None:
    """Update the open pull requests of a branch and send `push` and `synchronize`."""
    if before == after:
        return
    events.push(core, repository, branch, before, after, sender=user)
    for pull in repository.pulls:
        if pull.head_ref != branch or pull.state != "open":
            continue
        pull.head_sha, pull.updated_at = after, now()
        pull.base_sha = _branch(repository, pull.base_ref)
        pull.known_heads.append(after)
        repository.git.set_ref(f"refs/pull/{pull.number}/head", after)
        events.pull_request(core, repository, pull, "synchronize", user, before=before, after=after)


def retarget(core: Core, repository: Repository, pull: Pull, base: str, user: User) -> None:
    """Change the base branch and send `edited` with `changes.base`."""
    changes = {"base": {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}}}
    pull.base_ref, pull.base_sha, pull.updated_at = base, _branch(repository, base), now()
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
    git = repository.git
    base = _branch(repository, pull.base_ref)
    merge_tree = git.run("merge-tree", "--write-tree", base, pull.head_sha).decode().split()[0]
    sha = git.commit_tree(
        merge_tree, (base, pull.head_sha), message=f"Merge pull request #{pull.number}", author=user.login
    )
    git.set_ref(f"refs/heads/{pull.base_ref}", sha)
    moment = now()
    pull.state, pull.closed_at, pull.merged_at, pull.updated_at = "closed", moment, moment, moment
    pull.merged_by, pull.merge_commit_sha = user, sha
    events.push(core, repository, pull.base_ref, base, sha, sender=user)
    events.pull_request(core, repository, pull, "closed", user)
    return sha


def _branch(repository: Repository, branch: str) -> str:
    sha = repository.git.branch_head(branch)
    if sha is None:
        raise GitError(f"there is no branch {branch!r} in {repository.full_name}")
    return sha
