"""What people do on a GitHub: push, open pull requests, talk."""

from collections.abc import Mapping

from deploy.sandbox.git import FileContent, GitRepository
from deploy.sandbox.github import events, lifecycle, reviewing
from deploy.sandbox.github.app import create_app
from deploy.sandbox.github.core import Core
from deploy.sandbox.github.snapshot import GitHubPullState, snapshot
from deploy.sandbox.github.state import Comment, Hook, Pull, Repository, ReviewComment, User, now
from deploy.sandbox.github.web import PREFIX
from deploy.sandbox.served import ServedForge


class People(ServedForge):
    """Verbs for tests and demos."""

    def __init__(self, core: Core, hook: Hook) -> None:
        super().__init__(
            create_app(core), api_prefix=PREFIX, served=core.state, hook=hook, outbox=core.outbox
        )
        self._core = core
        self._state = core.state

    def _repository(self, full_name: str) -> Repository:
        return self._state.repository(full_name)

    def _pushed(
        self, full_name: str, branch: str, before: str | None, after: str, *, author: str, forced: bool
    ) -> None:
        lifecycle.pushed(
            self._core,
            self._state.repository(full_name),
            branch,
            before,
            after,
            user=self._state.user(author),
            forced=forced,
        )

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

    def comment_on_line(
        self,
        full_name: str,
        number: int,
        path: str,
        line: int,
        body: str,
        *,
        side: str = "RIGHT",
        author: str = "ada",
    ) -> int:
        """Write on a line that the diff shows and return the comment's id."""
        wanted = {"path": path, "line": line, "side": side, "body": body}
        with self._state.lock:
            repository, pull, user = self._pull(full_name, number, author)
            comment = reviewing.create_review_comment(self._state, repository, pull, user, wanted)
            self._announce_review(repository, pull, comment)
            return comment.id

    def reply(self, full_name: str, number: int, comment_id: int, body: str, author: str = "ada") -> int:
        """Answer a comment on a line and return the answer's id."""
        with self._state.lock:
            repository, pull, user = self._pull(full_name, number, author)
            comment = reviewing.reply(self._state, pull, user, comment_id, body)
            self._announce_review(repository, pull, comment)
            return comment.id

    def edit_comment(self, full_name: str, number: int, comment_id: int, body: str) -> None:
        """Change a comment's text as its author."""
        with self._state.lock:
            repository, pull = self._state.repository(full_name), self._state.pull(full_name, number)
            comment = _find_comment(pull, comment_id)
            changes = {"body": {"from": comment.body}}
            comment.body, comment.updated_at = body, now()
            if isinstance(comment, Comment):
                events.issue_comment(self._core, repository, comment, "edited", comment.user, changes=changes)
            else:
                events.review_comment(
                    self._core, repository, pull, comment, "edited", sender=comment.user, changes=changes
                )

    def delete_comment(self, full_name: str, number: int, comment_id: int) -> None:
        """Delete a comment, as a maintainer would."""
        with self._state.lock:
            pull = self._state.pull(full_name, number)
            comment = _find_comment(pull, comment_id)
            if isinstance(comment, Comment):
                pull.comments.remove(comment)
            else:
                pull.review_comments.remove(comment)

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

    def pull(self, full_name: str, number: int) -> GitHubPullState:
        """Take a picture of a pull request as it is now."""
        with self._state.lock:
            return snapshot(self._state.repository(full_name), self._state.pull(full_name, number))

    def _announce_review(self, repository: Repository, pull: Pull, comment: ReviewComment) -> None:
        review = next(review for review in pull.reviews if review.id == comment.review_id)
        events.submitted_review(self._core, repository, pull, review)

    def _pull(self, full_name: str, number: int, author: str) -> tuple[Repository, Pull, User]:
        return (
            self._state.repository(full_name),
            self._state.pull(full_name, number),
            self._state.user(author),
        )


def _find_comment(pull: Pull, comment_id: int) -> Comment | ReviewComment:
    comments: list[Comment | ReviewComment] = [*pull.comments, *pull.review_comments]
    for comment in comments:
        if comment.id == comment_id:
            return comment
    raise KeyError(f"no comment {comment_id} in pull request {pull.number}")
