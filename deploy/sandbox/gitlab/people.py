"""What people do on a GitLab: push, open merge requests, talk."""

from collections.abc import Mapping

from deploy.sandbox.git import FileContent, GitRepository
from deploy.sandbox.gitlab import lifecycle, notes
from deploy.sandbox.gitlab.app import create_app
from deploy.sandbox.gitlab.changes import find_change, version_changes
from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.lines import parse_lines
from deploy.sandbox.gitlab.positions import read_blob
from deploy.sandbox.gitlab.snapshot import GitLabPullState, snapshot
from deploy.sandbox.gitlab.state import DRAFT_PREFIX, MergeRequest, Note, Position, Project, User, now
from deploy.sandbox.gitlab.suggestions import apply_suggestion
from deploy.sandbox.gitlab.web import PREFIX
from deploy.sandbox.served import ServedForge


class People(ServedForge):
    """Verbs for tests and demos."""

    def __init__(self, core: Core) -> None:
        super().__init__(
            create_app(core), api_prefix=PREFIX, served=core.state, hook=core.hook, outbox=core.outbox
        )
        self._core = core
        self._state = core.state

    def _repository(self, full_name: str) -> Project:
        return self._state.project(full_name)

    def _pushed(
        self, full_name: str, branch: str, before: str | None, after: str, *, author: str, forced: bool
    ) -> None:
        project, user = self._state.project(full_name), self._state.user(author)
        lifecycle.pushed(self._core, project, branch, before, after, user=user)

    # Code

    def create_repository(
        self, full_name: str, files: Mapping[str, FileContent] | None = None, default_branch: str = "main"
    ) -> None:
        """Make a project with a first commit; its path may name nested groups."""
        with self._state.lock:
            git = GitRepository.create(self._state.root / f"{full_name}.git", default_branch)
            self._add_project(full_name, default_branch, git)
        self.commit(full_name, default_branch, files or {}, message="First commit")

    # Merge requests

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
        """Open a merge request and return its number; with `fork_owner` it comes from that account's fork."""
        with self._state.lock:
            project = self._state.project(full_name)
            merge_request = lifecycle.open_merge_request(
                self._core,
                project,
                source=self._fork(project, fork_owner) if fork_owner else project,
                source_branch=head,
                target_branch=base,
                title=f"{DRAFT_PREFIX}{title}" if draft else title,
                description=body,
                user=self._state.user(author),
            )
            return merge_request.iid

    def close(self, full_name: str, number: int, author: str = "ada") -> None:
        """Close a merge request without merging it."""
        with self._state.lock:
            lifecycle.close(self._core, *self._merge_request(full_name, number, author))

    def reopen(self, full_name: str, number: int, author: str = "ada") -> None:
        """Open a closed merge request again."""
        with self._state.lock:
            lifecycle.reopen(self._core, *self._merge_request(full_name, number, author))

    def mark_ready(self, full_name: str, number: int, author: str = "ada") -> None:
        """Turn a draft into a merge request that asks for review."""
        with self._state.lock:
            lifecycle.set_draft(self._core, *self._merge_request(full_name, number, author), draft=False)

    def convert_to_draft(self, full_name: str, number: int, author: str = "ada") -> None:
        """Turn a merge request into a draft."""
        with self._state.lock:
            lifecycle.set_draft(self._core, *self._merge_request(full_name, number, author), draft=True)

    def retarget(self, full_name: str, number: int, base: str, author: str = "ada") -> None:
        """Change the branch that a merge request wants to be merged into."""
        with self._state.lock:
            merge_request, user = self._merge_request(full_name, number, author)
            lifecycle.retarget(self._core, merge_request, base, user)

    def retitle(self, full_name: str, number: int, title: str, author: str = "ada") -> None:
        """Change a merge request's title."""
        with self._state.lock:
            merge_request, user = self._merge_request(full_name, number, author)
            lifecycle.retitle(self._core, merge_request, title, user)

    def label(self, full_name: str, number: int, *labels: str, author: str = "ada") -> None:
        """Set a merge request's labels."""
        with self._state.lock:
            merge_request, user = self._merge_request(full_name, number, author)
            lifecycle.change_labels(self._core, merge_request, list(labels), user)

    def approve(self, full_name: str, number: int, author: str = "ada") -> None:
        """Approve a merge request; a later push takes that back."""
        with self._state.lock:
            lifecycle.approve(self._core, *self._merge_request(full_name, number, author))

    def merge(self, full_name: str, number: int, author: str = "ada") -> str:
        """Merge a merge request and return the merge commit's SHA."""
        with self._state.lock:
            return lifecycle.merge(self._core, *self._merge_request(full_name, number, author))

    def delete_fork(self, full_name: str, number: int) -> None:
        """Delete the fork that a merge request came from: its source becomes null."""
        with self._state.lock:
            merge_request = self._state.merge_request(full_name, number)
            if merge_request.source and merge_request.source.forked_from:
                self._state.projects.pop(merge_request.source.path_with_namespace.lower(), None)
            merge_request.source = None

    # Talking

    def comment(self, full_name: str, number: int, body: str, author: str = "ada") -> int:
        """Write in the conversation and return the note's id; a note of commands only has none, so 0."""
        with self._state.lock:
            merge_request, user = self._merge_request(full_name, number, author)
            return _id(notes.create_note(self._core, merge_request, user, body).note)

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
        """Write on a line that the diff shows and return the note's id."""
        with self._state.lock:
            merge_request, user = self._merge_request(full_name, number, author)
            position = _position(merge_request, path, line, side)
            return _id(notes.create_note(self._core, merge_request, user, body, position=position).note)

    def reply(self, full_name: str, number: int, comment_id: int, body: str, author: str = "ada") -> int:
        """Answer a note, in its thread, and return the answer's id."""
        with self._state.lock:
            merge_request, user = self._merge_request(full_name, number, author)
            note = notes.find_note(merge_request, comment_id)
            thread = notes.find_thread(merge_request, note.discussion_id)
            return _id(notes.create_note(self._core, merge_request, user, body, thread=thread).note)

    def edit_comment(self, full_name: str, number: int, comment_id: int, body: str) -> None:
        """Change a note's text as its author."""
        with self._state.lock:
            merge_request = self._state.merge_request(full_name, number)
            note = notes.find_note(merge_request, comment_id)
            notes.edit_note(self._core, merge_request, note, note.user, body)

    def delete_comment(self, full_name: str, number: int, comment_id: int) -> None:
        """Delete a note, as a maintainer would."""
        with self._state.lock:
            merge_request = self._state.merge_request(full_name, number)
            merge_request.notes.remove(notes.find_note(merge_request, comment_id))

    def resolve(
        self, full_name: str, number: int, comment_id: int, *, resolved: bool = True, author: str = "ada"
    ) -> None:
        """Resolve the thread of a note."""
        with self._state.lock:
            merge_request, user = self._merge_request(full_name, number, author)
            note = notes.find_note(merge_request, comment_id)
            thread = notes.find_thread(merge_request, note.discussion_id)
            notes.resolve(self._core, merge_request, thread, user, resolved=resolved)

    def apply_suggestion(
        self, full_name: str, number: int, comment_id: int, *, which: int = 0, author: str = "ada"
    ) -> str:
        """Commit a suggestion of a note, which is a push, and return the commit's SHA."""
        with self._state.lock:
            merge_request = self._state.merge_request(full_name, number)
            note = notes.find_note(merge_request, comment_id)
            if note.position is None:
                raise KeyError(f"note {comment_id} stands on no line")
            path, branch = note.position.path, merge_request.source_branch
            blob = read_blob(merge_request.project.git.path, merge_request.head_sha, path)
            changed = apply_suggestion(blob, note.suggestions[which])
            message = "Apply 1 suggestion(s) to 1 file(s)"
            return self.commit(full_name, branch, {path: changed}, message=message, author=author)

    def pull(self, full_name: str, number: int) -> GitLabPullState:
        """Take a picture of a merge request as it is now."""
        with self._state.lock:
            return snapshot(self._state.merge_request(full_name, number))

    def _merge_request(self, full_name: str, number: int, author: str) -> tuple[MergeRequest, User]:
        return self._state.merge_request(full_name, number), self._state.user(author)

    def _add_project(
        self, full_name: str, default_branch: str, git: GitRepository, parent: Project | None = None
    ) -> Project:
        project = Project(
            id=self._state.next_id(),
            path_with_namespace=full_name,
            namespace_id=self._state.next_id(),
            default_branch=default_branch,
            git=git,
            created_at=now(),
            forked_from=parent,
        )
        self._state.projects[full_name.lower()] = project
        return project

    def _fork(self, project: Project, owner: str) -> Project:
        path = f"{self._state.user(owner).login}/{project.path}"
        found = self._state.projects.get(path.lower())
        return found or self._add_project(path, project.default_branch, project.git, project)


def _position(merge_request: MergeRequest, path: str, line: int, side: str) -> Position:
    version = merge_request.version
    if version is None:
        raise KeyError(f"the diff of merge request {merge_request.iid} is not ready")
    changes = version_changes(merge_request.project, version)
    old_path = next((change.old_path for change in changes if change.new_path == path), path)
    change = find_change(changes, old_path, path)
    for found in parse_lines(change.patch) if change else ():
        number = found.old_line if side == "LEFT" else found.new_line
        if number == line:
            return Position(
                data={
                    "base_sha": version.base_sha,
                    "start_sha": version.start_sha,
                    "head_sha": version.head_sha,
                    "position_type": "text",
                    "old_path": old_path,
                    "new_path": path,
                    "old_line": found.old_line,
                    "new_line": found.new_line,
                }
            )
    raise KeyError(f"the diff shows no line {line} ({side}) of {path!r}")


def _id(note: Note | None) -> int:
    return note.id if note else 0
