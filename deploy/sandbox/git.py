"""A bare git repository, driven through the git command line without a shell.

Everything that a sandbox forge says about code comes from here, so its diffs and numbers are git's own.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

# Commits of a sandbox are dated one minute apart from here, so that the same calls give the same SHAs.
FIRST_COMMIT_AT = int(datetime(2026, 1, 5, 9, 0, tzinfo=UTC).timestamp())

_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": os.devnull,
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
}


class GitError(Exception):
    """A git command failed; the text is what it wrote to stderr."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialFile:
    """A file that is not a plain one: mode 100755 (executable), 120000 (symlink) or 160000 (submodule)."""

    mode: str
    content: str | bytes


FileContent = str | bytes | SpecialFile | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """One line of `git ls-tree`; `size` in bytes is None for trees and submodules."""

    mode: str
    kind: str
    sha: str
    path: str
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit's metadata."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: str
    email: str
    date: datetime
    message: str


class GitRepository:
    """Read and write one bare repository."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._commits_made = 0
        self._known: set[tuple[str, str]] = set()  # (full SHA, kind) of objects that are there: they stay

    @classmethod
    def create(cls, path: Path, default_branch: str) -> "GitRepository":
        """Make an empty bare repository at `path`."""
        path.mkdir(parents=True)
        repository = cls(path)
        repository.run("init", "--quiet", "--bare", f"--initial-branch={default_branch}", ".")
        return repository

    def run(self, *arguments: str, stdin: bytes | None = None) -> bytes:
        """Run one git command and return its stdout; raises GitError."""
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            env=_ENVIRONMENT,
            input=stdin,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            raise GitError(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def resolve(self, revision: str, kind: str = "commit") -> str | None:
        """Return the full SHA that a revision names, or None."""
        if (revision, kind) in self._known:
            return revision
        if not revision or revision.startswith("-"):
            return None
        try:
            sha = self.run("rev-parse", "--verify", "--quiet", f"{revision}^{{{kind}}}").decode().strip()
        except GitError:
            return None
        self._known.add((sha, kind))
        return sha

    def branch_head(self, branch: str) -> str | None:
        """Return the SHA a branch points to, or None."""
        return self.resolve(f"refs/heads/{branch}")

    def set_ref(self, name: str, sha: str) -> None:
        """Point a ref at a commit, whatever it pointed to before."""
        self.run("update-ref", name, sha)

    def commit(
        self,
        branch: str,
        files: Mapping[str, FileContent],
        *,
        message: str,
        author: str,
        parent: str | None,
        renames: Mapping[str, str] | None = None,
    ) -> str:
        """Commit file changes on top of a commit, or of nothing, and point the branch to it; return the SHA.

        None as content deletes the file.
        """
        text = message.encode()
        stream = [
            f"commit refs/heads/{branch}\nmark :1\n".encode(),
            f"committer {author} <{author}@sandbox.invalid> {self._next_date()} +0000\n".encode(),
            b"data %d\n%s\n" % (len(text), text),
        ]
        if parent:
            stream.append(f"from {parent}\n".encode())
        stream += [b"R %s %s\n" % (_quoted(old), _quoted(new)) for old, new in (renames or {}).items()]
        stream += [_change(path, content) for path, content in files.items()]
        stream.append(b"\nget-mark :1\ndone\n")
        return self.run("fast-import", "--quiet", "--done", stdin=b"".join(stream)).decode().strip()

    def commit_on_top(
        self,
        branch: str,
        files: Mapping[str, FileContent],
        *,
        message: str,
        author: str,
        start: str,
        default_branch: str,
        renames: Mapping[str, str] | None = None,
    ) -> tuple[str | None, str]:
        """Commit to a branch, which begins at `start` if it is new; return its heads before and after.

        Raises GitError if there is no such revision to start at, except for the first commit of all.
        """
        before = self.branch_head(branch)
        parent = before or self.resolve(start)
        if parent is None and branch != default_branch:
            raise GitError(f"cannot start branch {branch!r}: there is no revision {start!r}")
        return before, self.commit(
            branch, files, message=message, author=author, parent=parent, renames=renames
        )

    def require_branch(self, branch: str) -> str:
        """Return the SHA a branch points to; raises GitError."""
        sha = self.branch_head(branch)
        if sha is None:
            raise GitError(f"there is no branch {branch!r} in {self.path}")
        return sha

    def merge(self, target: str, head: str, *, message: str, author: str) -> tuple[str, str]:
        """Merge a commit into a branch, and return the branch's heads before and after.

        Raises GitError on conflicts.
        """
        before = self.require_branch(target)
        tree = self.run("merge-tree", "--write-tree", before, head).decode().split()[0]
        sha = self.commit_tree(tree, (before, head), message=message, author=author)
        self.set_ref(f"refs/heads/{target}", sha)
        return before, sha

    def commit_tree(self, tree: str, parents: tuple[str, ...], *, message: str, author: str) -> str:
        """Commit a tree that exists already and return the SHA; no branch moves."""
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        person = f"{author} <{author}@sandbox.invalid> {self._next_date()} +0000"
        text = "\n".join([*lines, f"author {person}", f"committer {person}", "", message, ""])
        return self.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode()).decode().strip()

    def _next_date(self) -> int:
        self._commits_made += 1
        return FIRST_COMMIT_AT + 60 * (self._commits_made - 1)

    def fetch(self, source: Path, revisions: Mapping[str, str]) -> None:
        """Copy revisions of a local repository here as branches: {branch: revision}."""
        found = {
            branch: GitRepository(source).resolve(revision) or _missing(source, revision)
            for branch, revision in revisions.items()
        }
        refspecs = [f"+{sha}:refs/heads/{branch}" for branch, sha in found.items()]
        # A local source only hands out the tips of its refs, unless it is told that any commit may go.
        upload_pack = "git -c uploadpack.allowAnySHA1InWant=true upload-pack"
        self.run(
            "-c",
            "safe.directory=*",
            "fetch",
            "--quiet",
            "--no-tags",
            "--force",
            f"--upload-pack={upload_pack}",
            str(source.resolve()),
            *refspecs,
        )

    def merge_base(self, base: str, head: str) -> str | None:
        """Return the best common ancestor, or None for unrelated histories."""
        try:
            return self.run("merge-base", base, head).decode().split()[0]
        except GitError:
            return None

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Tell whether `newer` contains `older`."""
        try:
            self.run("merge-base", "--is-ancestor", older, newer)
        except GitError:
            return False
        return True

    def diff(self, base: str, head: str, *options: str) -> bytes:
        """Return `git diff` between two commits, renames detected."""
        return self.run("diff", "--no-color", "--no-ext-diff", "--no-textconv", "-M", *options, base, head)

    def commits(self, base: str | None, head: str) -> list[Commit]:
        """List the commits of `base..head`, oldest first (all of `head` when base is None)."""
        span = f"{base}..{head}" if base else head
        out = self.run(
            "log", "--reverse", "--topo-order", "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%ct%x00%B%x01", span
        )
        return [_commit(record) for record in out.decode(errors="replace").split("\x01") if record.strip()]

    def commit_at(self, sha: str) -> Commit:
        """Read one commit."""
        out = self.run("show", "--no-patch", "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%ct%x00%B", sha)
        return _commit(out.decode(errors="replace"))

    def list_tree(self, revision: str, path: str = "", *, recursive: bool = False) -> list[TreeEntry]:
        """List a directory of a commit or tree, with full paths."""
        flags = ["-r", "-t"] if recursive else []
        where = ["--", f"{path}/"] if path else []  # the slash lists what is in it, not the directory itself
        out = self.run("ls-tree", "-z", "--long", "--full-tree", *flags, revision, *where)
        return [_tree_entry(record) for record in out.split(b"\0") if record]

    def tree_entry(self, revision: str, path: str) -> TreeEntry | None:
        """Find the entry of exactly this path at a commit, or None."""
        out = self.run("ls-tree", "-z", "--long", "--full-tree", revision, "--", path)
        entries = [_tree_entry(record) for record in out.split(b"\0") if record]
        return next((entry for entry in entries if entry.path == path), None)

    def blob(self, sha: str) -> bytes:
        """Return a blob's content; raises GitError if there is no such blob."""
        return self.run("cat-file", "blob", sha)


def _change(path: str, content: FileContent) -> bytes:
    if content is None:
        return b"D %s\n" % _quoted(path)
    mode, data = (content.mode, content.content) if isinstance(content, SpecialFile) else ("100644", content)
    raw = data.encode() if isinstance(data, str) else data
    if mode == "160000":
        return b"M 160000 %s %s\n" % (raw, _quoted(path))
    return b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), _quoted(path), len(raw), raw)


def _quoted(path: str) -> bytes:
    """Quote a path for fast-import, which reads C strings."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'.encode(errors="surrogateescape")


def _missing(source: Path, revision: str) -> str:
    raise GitError(f"there is no revision {revision!r} in {source}")


def _commit(record: str) -> Commit:
    sha, tree, parents, author, email, seconds, message = record.strip("\n").split("\0", 6)
    date = datetime.fromtimestamp(int(seconds), tz=UTC)
    return Commit(
        sha=sha,
        tree=tree,
        parents=tuple(parents.split()),
        author=author,
        email=email,
        date=date,
        message=message.rstrip("\n"),
    )


def _tree_entry(record: bytes) -> TreeEntry:
    found = re.fullmatch(rb"(\d+) (\w+) (\w+) +(-|\d+)\t(.*)", record, re.DOTALL)
    if found is None:
        raise GitError(f"unexpected ls-tree record {record!r}")
    mode, kind, sha, size, path = found.groups()
    return TreeEntry(
        mode=mode.decode(),
        kind=kind.decode(),
        sha=sha.decode(),
        path=path.decode(errors="surrogateescape"),
        size=None if size == b"-" else int(size),
    )
