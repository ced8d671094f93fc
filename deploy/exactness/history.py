"""Two versions of a made-up repository, stored in git as a pull request would have them.

Between them lies what a three-dot diff has to see through: the target branch has gone on, and the head may
have merged it in before that.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

PLAIN, EXECUTABLE, SYMLINK, SUBMODULE = "100644", "100755", "120000", "160000"
# Outside of what the versions hold, so that a diff against the wrong commit shows it.
_ELSEWHERE = "gone on elsewhere"
_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": os.devnull,
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file of a version; the content of a submodule is its commit's id."""

    mode: str
    content: bytes


Tree = Mapping[str, Entry]


def run_git(repository: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """Run git without anybody's configuration and return what it writes; raises CalledProcessError."""
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, input=stdin, env=_ENVIRONMENT, capture_output=True, check=True).stdout


def create_repository(path: Path) -> None:
    """Make an empty bare repository."""
    path.mkdir(parents=True, exist_ok=True)
    run_git(path, "init", "--quiet", "--bare", ".")


def store_branches(repository: Path, old: Tree, new: Tree, *, name: str, is_merged: bool) -> tuple[str, str]:
    """Store two branches whose three-dot diff goes from `old` to `new`; give the names of base and head."""
    base, head = f"{name}-base", f"{name}-head"
    # The merged head began before the target branch had the old version.
    commits = (
        [
            _commit(base, 1, {}),
            _commit(head, 2, {_ELSEWHERE: Entry(mode=PLAIN, content=b"1\n")}, 1),
            _commit(base, 3, old, 1),
            _commit(head, 4, new, 2, 3),
        ]
        if is_merged
        else [_commit(base, 3, old), _commit(head, 4, new, 3)]
    )
    commits.append(_commit(base, 5, {**old, _ELSEWHERE: Entry(mode=PLAIN, content=b"2\n")}, 3))
    run_git(repository, "fast-import", "--quiet", "--force", stdin=b"".join(commits))
    return base, head


def _commit(branch: str, mark: int, tree: Tree, *parents: int) -> bytes:
    lines = [f"commit refs/heads/{branch}", f"mark :{mark}", "committer a <a@b> 0 +0000", "data 0"]
    lines += [f"{'merge' if number else 'from'} :{parent}" for number, parent in enumerate(parents)]
    return "".join(f"{line}\n" for line in [*lines, "deleteall"]).encode() + b"".join(_files(tree))


def _files(tree: Tree) -> Iterator[bytes]:
    for path, entry in tree.items():
        quoted = "".join(f"\\{byte:03o}" for byte in path.encode("utf-8", "surrogateescape"))
        if entry.mode == SUBMODULE:
            yield f'M {SUBMODULE} {entry.content.decode()} "{quoted}"\n'.encode()
        else:
            yield f'M {entry.mode} inline "{quoted}"\ndata {len(entry.content)}\n'.encode()
            yield entry.content + b"\n"
