"""The rules by which a change is not worth a reviewer's time, by name and as people read them."""

import re
from enum import StrEnum
from functools import cache


class Rule(StrEnum):
    """Name why a file or a hunk is not reviewed."""

    IGNORED = "ignored"
    LOCK_FILE = "lock-file"
    GENERATED = "generated"
    VENDORED = "vendored"
    MINIFIED = "minified"
    BINARY = "binary"
    LFS_POINTER = "lfs-pointer"
    SUBMODULE = "submodule"
    PURE_RENAME = "pure-rename"
    MODE_CHANGE = "mode-change"
    EMPTY = "empty"
    BLANK_LINES = "blank-lines"
    WHITESPACE = "whitespace"
    IMPORT_ORDER = "import-order"

    @property
    def phrase(self) -> str:
        """Give the rule as a phrase that fits after "not reviewed:"."""
        return _PHRASES[self]


_PHRASES = {
    Rule.IGNORED: "ignored by the repository's settings",
    Rule.LOCK_FILE: "lock file",
    Rule.GENERATED: "generated file",
    Rule.VENDORED: "third-party code",
    Rule.MINIFIED: "minified or too long lines",
    Rule.BINARY: "binary file",
    Rule.LFS_POINTER: "Git LFS pointer",
    Rule.SUBMODULE: "submodule pointer",
    Rule.PURE_RENAME: "renamed or copied without a change",
    Rule.MODE_CHANGE: "only the file mode changed",
    Rule.EMPTY: "empty file",
    Rule.BLANK_LINES: "only blank lines changed",
    Rule.WHITESPACE: "only whitespace changed",
    Rule.IMPORT_ORDER: "only the order of imports changed",
}

# All are searched in a path that begins with a slash.
# Names that do not end in `.lock`, which stands for the rest.
_LOCK_FILE = re.compile(
    r"/(?:[^/]+\.lock|package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.ya?ml|bun\.lockb|conda-lock\.ya?ml"
    r"|go\.sum|go\.work\.sum|Cartfile\.resolved|Package\.resolved|packages\.lock\.json|project\.assets\.json"
    r"|(?:buildscript-)?gradle\.lockfile|\.terraform\.lock\.hcl|vcpkg-lock\.json)$"
)
_VENDORED = re.compile(
    r"/(?:vendor|vendored|_vendor|node_modules|bower_components|jspm_packages|third[_-]party|Godeps|Pods|"
    r"Carthage/Build|site-packages|\.yarn/(?:releases|plugins|cache))/"
)
# And these two in lower case.
_GENERATED = re.compile(
    r"/(?:__generated__|__snapshots__)/"
    r"|\.pb(?:\.gw|\.validate)?\.(?:go|cc|h|swift|dart)$|_pb2(?:_grpc)?\.pyi?$|_pb\.(?:js|ts|d\.ts|rb)$|_grpc\.pb\.go$"
    r"|\.snap$|\.generated\.[a-z]+$|_generated\.(?:go|rs|py|ts|js)$|\.(?:g|freezed)\.dart$|\.(?:g|designer|g\.i)\.cs$"
    r"|/zz_generated\.[^/]+\.go$|/dist/.+\.(?:js|mjs|cjs|css)$|\.(?:bundle|chunk)\.(?:js|css)$"
    r"|\.(?:js|mjs|cjs|css|ts)\.map$"
)
_MINIFIED = re.compile(r"[.-]min\.(?:js|mjs|cjs|css)$")


def classify_path(path: str) -> Rule | None:
    """Tell by its name alone why a file is not reviewed."""
    rooted = f"/{path}"
    if _LOCK_FILE.search(rooted):
        return Rule.LOCK_FILE
    if _VENDORED.search(rooted):
        return Rule.VENDORED
    rooted = rooted.lower()
    if _GENERATED.search(rooted):
        return Rule.GENERATED
    return Rule.MINIFIED if _MINIFIED.search(rooted) else None


@cache
def compile_globs(globs: tuple[str, ...]) -> re.Pattern[str] | None:
    """Compile ignore globs, read as in .gitignore: `*` stays in a folder, `**` does not.

    A glob without a slash before its end matches at any depth; one that names a folder matches all below it.
    """
    patterns = [_translate(glob) for glob in globs if glob.strip("/")]
    return re.compile("|".join(patterns), re.DOTALL) if patterns else None


# What `**` stands for, in the middle of a name and as folders.
_DEEP = {"**": ".*?", "**/": "(?:.*?/)??"}
_GLOB_PART = re.compile(r"(?:(?<=/)|^)\*\*/|/\*\*$|\*\*|\*|\?|[^*?/]+|/")


def _translate(glob: str) -> str:
    """Write a glob as a regular expression whose time does not grow with the number of wildcards.

    Each wildcard takes as little as it can. What stands between it and the next one that can take as much is an
    atomic group: taking more would only leave less to that one.
    """
    body = glob.rstrip("/")
    anywhere = "" if "/" in body else "(?:.*/)?"
    blocks: list[list[str]] = [[""]]
    for part in _GLOB_PART.findall(body.lstrip("/")):
        match part:
            case "**" | "**/":
                blocks.append([_DEEP[part]])
            case "/**":
                blocks[-1][-1] += "/.+"
            case "*":
                blocks[-1].append("[^/]*?")
            case "?":
                blocks[-1][-1] += "[^/]"
            case _:
                blocks[-1][-1] += re.escape(part)
    # What begins a block takes any number of folders, which no `*` behind it can: that stays open.
    whole = [f"{first}{_atomic(rest)}" for first, *rest in blocks]
    return rf"\A{anywhere}{_atomic(whole)}{'/.+' if glob.endswith('/') else '(?:/.*)?'}\Z"


def _atomic(parts: list[str]) -> str:
    """Join parts, all but the last as atomic groups."""
    return "".join(f"(?>{part})" for part in parts[:-1]) + "".join(parts[-1:])
