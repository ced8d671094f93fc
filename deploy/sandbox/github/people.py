"""What people do on a GitHub: push, open pull requests, talk."""

from collections.abc import Mapping
from pathlib import Path

from deploy.sandbox.git import FileContent, GitError, GitRepository
from deploy.sandbox.github import events, lifecycle, reviewing
from deploy.sandbox.github.core import Core
from deploy.sandbox.github.snapshot import PullState, snapshot
from deploy.sandbox.github.state import Comment, Pull, Repository, User, now


class People:
    """Verbs for tests and demos; each takes effect at once and sends its webhooks."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._state = core.state

    # Code

    def create_repository(
        self, full_name: str, files: Mapping[str, FileContent] | None = None, default_branch: str = "main"
    ) -> None:
        """Make a repository with a first commit; an owner that does not exist becomes an organization."""
        owner_login, name = full_name.split("/")
        with self._state.lock:
            owner = self._state.users.get(owner_login.lower()) or self._state.add_user(
                owner_login, permission="admin", kind="Organization"
            )
            git = GitRepository.create(self._state.root / owner_login / f"{name}.git", default_branch)
            self._state.repositories[full_name.lower()] = Repository(
                id=self._state.next_id(),
                owner=owner,
                name=name,
                default_branch=default_branch,
                git=git,
                created_at=now(),
            )
        self.commit(full_name, default_branch, files or {}, message="First commit")

    def commit(
        self,
        full_name: str,
        branch: str,
        files: Mapping[str, FileContent],
        *,
        message: str = "Change files",
        start: str | None = None,
        renames: Mapping[str, str] | None = None,
        author: str = "ada",
    ) -> str:
        """Push one commit and return its SHA; None as content deletes a file.

        A branch that does not exist starts at `start` (the default branch). Open pull requests of it are
        updated and send `synchronize`.
        """
        with self._state.lock:
            repository = self._state.repository(full_name)
            return lifecycle.commit(
                self._core,
                repository,
                branch,
                files,
                message=message,
                user=self._state.user(author),
                start=start or repository.default_branch,
                renames=renames,
            )

    def force_push(self, full_name: str, branch: str, to: str, author: str = "ada") -> None:
        """Point a branch at any commit, and the reviews of its pull requests with it, as GitHub does."""
        with self._state.lock:
            repository = self._state.repository(full_name)
            sha = repository.git.resolve(to)
            if sha is None:
                raise GitError(f"there is no commit {to!r} in {full_name}")
            lifecycle.force_push(self._core, repository, branch, sha, self._state.user(author))

    def import_branch(
        self,
        full_name: str,
        source: Path,
        base_revision: str,
        head_revision: str,
        *,
        base: str = "base",
        head: str = "head",
    ) -> None:
        """Fetch two revisions of a local git repository as the branches `base` and `head`."""
        with self._state.lock:
            repository = self._state.repository(full_name)
            repository.git.fetch(source, {base: base_revision, head: head_revision})

    def git_path(self, full_name: str) -> Path:
        """Return where the bare repository lies, for git itself."""
        return self._state.repository(full_name).git.path

    # Pull requests

    def open_pull_request(
        self,
        full_name: str,
        head: str,
        base: str = "main",
        *,
        title: str = "Change",
        body: str = "",
        author: str = "ada",
        draft: bool = False,
        fork_owner: str | None = None,
    ) -> int:
        """Open a pull request and return its number; with `fork_owner` it comes from that account's fork."""
        with self._state.lock:
            pull = lifecycle.open_pull(
                self._core,
                self._state.repository(full_name),
                head=head,
                base=base,
                title=title,
                body=body,
                user=self._state.user(author),
                draft=draft,
                fork_owner=self._state.user(fork_owner) if fork_owner else None,
            )
            return pull.number

    def open_issue(self, full_name: str, title: str, body: str = "", author: str = "ada") -> int:
        """Open a plain issue and return its number."""
        with self._state.lock:
            repository = self._state.repository(full_name)
            return lifecycle.open_issue(self._core, repository, title, body, self._state.user(author)).number

    def close(self, full_name: str, number: int, author: str = "ada") -> None:
        """Close a pull request without merging it."""
        with self._state.lock:
            lifecycle.close(self._core, *self._pull(full_name, number, author))

    def reopen(self, full_name: str, number: int, author: str = "ada") -> None:
        """Open a closed pull request again."""
        with self._state.lock:
            lifecycle.reopen(self._core, *self._pull(full_name, number, author))

    def mark_ready(self, full_name: str, number: int, author: str = "ada") -> None:
        """Turn a draft into a pull request that asks for review."""
        with self._state.lock:
            lifecycle.set_draft(self._core, *self._pull(full_name, number, author), draft=False)

    def convert_to_draft(self, full_name: str, number: int, author: str = "ada") -> None:
        """Turn a pull request into a draft."""
        with self._state.lock:
            lifecycle.set_draft(self._core, *self._pull(full_name, number, author), draft=True)

    def retarget(self, full_name: str, number: int, base: str, author: str = "ada") -> None:
        """Change the branch that a pull request wants to be merged into."""
        with self._state.lock:
            repository, pull, user = self._pull(full_name, number, author)
            lifecycle.retarget(self._core, repository, pull, base, user)

    def retitle(self, full_name: str, number: int, title: str, author: str = "ada") -> None:
        """Change a pull request's title."""
        with self._state.lock:
            repository, pull, user = self._pull(full_name, number, author)
            lifecycle.retitle(self._core, repository, pull, title, user)

    def merge(self, full_name: str, number: int, author: str = "ada") -> str:
        """Merge a pull request and return the merge commit's SHA."""
        with self._state.lock:
            return lifecycle.merge(self._core, *self._pull(full_name, number, author))

    def delete_fork(self, full_name: str, number: int) -> None:
        """Delete the fork that a pull request came from: its head.repo becomes null."""
        with self._state.lock:
            self._state.pull(full_name, number).fork_deleted = True

    # Talking

    def comment(self, full_name: str, number: int, body: str, author: str = "ada") -> int:
        """Write in the conversation of a pull request or issue and return the comment's id."""
        with self._state.lock:
            repository, user, moment = self._state.repository(full_name), self._state.user(author), now()
            comment = Comment(
                id=self._state.next_id(),
                number=number,
                user=user,
                app=None,
                body=body,
                created_at=moment,
                updated_at=moment,
            )
            repository.issues[number].comments.append(comment)
            events.issue_comment(self._core, repository, comment, "created", user)
            return comment.id

    def reply(self, full_name: str, number: int, comment_id: int, body: str, author: str = "ada") -> int:
        """Answer a comment on a line and return the answer's id."""
        with self._state.lock:
            repository, pull, user = self._pull(full_name, number, author)
            comment = reviewing.reply(self._state, pull, user, comment_id, body)
            review = next(review for review in pull.reviews if review.id == comment.review_id)
            events.submitted_review(self._core, repository, pull, review)
            return comment.id

    def review(self, full_name: str, number: int, *, author: str, **wanted: object) -> int:
        """Review as a person; `wanted` are the body's keys of POST /reviews."""
        with self._state.lock:
            repository, pull, user = self._pull(full_name, number, author)
            review = reviewing.create_review(
                self._state, repository, pull, user, wanted, older_wording=self._core.older_review_errors
            )
            if review.state != "PENDING":
                events.submitted_review(self._core, repository, pull, review)
            return review.id

    def pull(self, full_name: str, number: int) -> PullState:
        """Take a picture of a pull request as it is now."""
        with self._state.lock:
            return snapshot(self._state.repository(full_name), self._state.pull(full_name, number))

    def _pull(self, full_name: str, number: int, author: str) -> tuple[Repository, Pull, User]:
        return (
            self._state.repository(full_name),
            self._state.pull(full_name, number),
            self._state.user(author),
        )
