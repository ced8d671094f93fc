"""Writing a file's section of a diff as git writes it, for forges that give the hunks without the headers.

See "Generating patch text" in git-diff(1).
"""

import os
import subprocess
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

DEV_NULL = "/dev/null"
_QUOTED = {
    7: "\\a",
    8: "\\b",
    11: "\\v",
    12: "\\f",
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    9: "\\t",
    10: "\\n",
    13: "\\r",
}
_GIT_TIMEOUT_S = 30.0


class Change(StrEnum):
    """Tell what happened to a file as a whole."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"
    RENAMED = "renamed"
    COPIED = "copied"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One changed file; the two paths differ only if it was renamed or copied."""

    old_path: str
    new_path: str
    change: Change

    @property
    def header(self) -> str:
        """Write the lines before `---`, which are all that a change without hunks has.

        The mode of a new or deleted file is written as 100644: forges do not tell it here.
        """
        lines = [f"diff --git {_quote('a/' + self.old_path)} {_quote('b/' + self.new_path)}"]
        match self.change:
            case Change.ADDED:
                lines.append("new file mode 100644")
            case Change.REMOVED:
                lines.append("deleted file mode 100644")
            case Change.RENAMED | Change.COPIED:
                verb = "rename" if self.change is Change.RENAMED else "copy"
                lines += [f"{verb} from {_quote(self.old_path)}", f"{verb} to {_quote(self.new_path)}"]
        return "".join(f"{line}\n" for line in lines)

    def with_hunks(self, hunks: bytes) -> bytes:
        """Write the section with its hunks, which start at the first `@@`."""
        names = f"--- {_marked(self._old_name)}\n+++ {_marked(self._new_name)}\n"
        return _encode(self.header + names) + hunks.removesuffix(b"\n") + b"\n"

    def as_binary(self) -> bytes:
        """Write the section of a file that is no text."""
        return _encode(
            f"{self.header}Binary files {_quote(self._old_name)} and {_quote(self._new_name)} differ\n"
        )

    def without_hunks(self) -> bytes:
        """Write the section of a file whose lines are the same on both sides."""
        return _encode(self.header)

    @property
    def _old_name(self) -> str:
        return DEV_NULL if self.change is Change.ADDED else f"a/{self.old_path}"

    @property
    def _new_name(self) -> str:
        return DEV_NULL if self.change is Change.REMOVED else f"b/{self.new_path}"


def write_section(file: FileChange, old: bytes, new: bytes) -> bytes:
    """Compare two versions of a file with git and write its section; raises OSError if git cannot do it."""
    with tempfile.TemporaryDirectory(prefix="redline-diff-") as folder:
        # Fixed names: a name from the pull request must not become an option, a path or an attribute match.
        Path(folder, "old").write_bytes(old)
        Path(folder, "new").write_bytes(new)
        try:
            result = subprocess.run(
                [
                    "git",
                    "diff",
                    "--no-index",
                    "--no-ext-diff",
                    "--no-textconv",
                    "--no-color",
                    "-U3",
                    "old",
                    "new",
                ],
                cwd=folder,
                env={
                    "PATH": os.environ.get("PATH", os.defpath),
                    "HOME": folder,
                    "LC_ALL": "C",
                    "GIT_CONFIG_NOSYSTEM": "1",
                    "GIT_ATTR_NOSYSTEM": "1",
                    "GIT_CEILING_DIRECTORIES": str(Path(folder).parent),
                },
                capture_output=True,
                timeout=_GIT_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise TimeoutError("git diff took too long") from error
    if result.returncode not in {0, 1}:
        raise OSError(f"git diff ended with {result.returncode}")
    header, found, hunks = result.stdout.partition(b"\n@@ ")
    if found:
        return file.with_hunks(b"@@ " + hunks)
    return file.as_binary() if b"\nBinary files " in header else file.without_hunks()


def _quote(name: str) -> str:
    """Quote a name like a C string where git would with `core.quotePath` off."""
    if not any(character in '"\\\x7f' or character < " " for character in name):
        return name
    letters = {code: f"\\{code:03o}" for code in (*range(32), 127)} | _QUOTED
    return f'"{name.translate(letters)}"'


def _marked(name: str) -> str:
    """Write a name after `---` or `+++`: git ends one that holds a space with a tab, quoted or not."""
    return f"{_quote(name)}\t" if " " in name else _quote(name)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
