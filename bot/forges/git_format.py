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
_PLAIN = "100644"
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
    """One changed file; the two paths differ only if it was renamed or copied.

    Modes are git's octal strings, "" where the forge does not tell them.
    """

    old_path: str
    new_path: str
    change: Change
    old_mode: str = ""
    new_mode: str = ""

    @property
    def header(self) -> str:
        """Write the lines before `---`, which are all that a change without hunks has.

        The mode of a new or deleted file is written as 100644 where it is not known.
        """
        lines = [self.title]
        is_changed = bool(self.old_mode and self.new_mode) and self.old_mode != self.new_mode
        match self.change:
            case Change.ADDED:
                lines.append(f"new file mode {self.new_mode or _PLAIN}")
            case Change.REMOVED:
                lines.append(f"deleted file mode {self.old_mode or _PLAIN}")
            case _ if is_changed:
                lines += [f"old mode {self.old_mode}", f"new mode {self.new_mode}"]
        if self.change in {Change.RENAMED, Change.COPIED}:
            verb = "rename" if self.change is Change.RENAMED else "copy"
            lines += [f"{verb} from {_quote(self.old_path)}", f"{verb} to {_quote(self.new_path)}"]
        if self.change is Change.MODIFIED and self.new_mode not in {"", _PLAIN} and not is_changed:
            # Nothing else tells that the entry is a submodule; the hashes are not known here.
            lines.append(f"index 0000000..0000000 {self.new_mode}")
        return "".join(f"{line}\n" for line in lines)

    @property
    def title(self) -> str:
        """Write the first line of the section, which names the file."""
        return f"diff --git {_quote('a/' + self.old_path)} {_quote('b/' + self.new_path)}"

    @property
    def escaped_title(self) -> bytes:
        """Write the first line as git does with `core.quotePath` on: what is not ASCII is escaped."""
        return f"diff --git {_escape('a/' + self.old_path)} {_escape('b/' + self.new_path)}".encode("ascii")

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


def _escape(name: str) -> str:
    """Quote a name like a C string, and each of its bytes that is not ASCII."""
    quoted = _quote(name)
    if quoted.isascii():
        return quoted
    inner = quoted[1:-1] if quoted != name else quoted
    escaped = (chr(byte) if byte < 128 else f"\\{byte:03o}" for byte in _encode(inner))
    return f'"{"".join(escaped)}"'


def _marked(name: str) -> str:
    """Write a name after `---` or `+++`: git ends one that holds a space with a tab, quoted or not."""
    return f"{_quote(name)}\t" if " " in name else _quote(name)


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
