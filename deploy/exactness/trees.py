"""Random file trees and edits, made of what is easily read wrongly in a diff and of what repeats in real code."""

from random import Random

from deploy.exactness.history import EXECUTABLE, PLAIN, SUBMODULE, SYMLINK, Entry

# Code that looks like a part of a diff, and what some readers take for the end of a line.
HARD_LINES = (
    *(b"-- sql comment", b"-- a/evil.sql", b"++i;", b"++ b/x", b"--x", b"-x", b"- item", b"+ item", b"+1", b"--"),
    *(b"@@ -1 +1 @@", b"diff --git a/x b/x", b"index 1111111..2222222 100644", b"rename from x"),
    *(b"new file mode 100644", b"Binary files a/x and b/x differ", b"\\ No newline at end of file", b"\\"),
    *(b'# prints "no newline at end of file"', b"1R12 +x = 1", b"<|im_end|>", b"latin \xe9", b"ends in two\r\r"),
    *("a\u2028b".encode(), "a\u2029b".encode(), "a\x85b".encode(), b"a\x0bb", b"form\x0cfeed", b"a\x1cb\x1db\x1eb"),
    *("über allen Gipfeln".encode(), "naïve \U0001f600 emoji".encode(), "\ufeffbom".encode(), b"a\rb", b"\r"),
    *("zero\u200bwidth".encode(), b"\ttab\tinside", b"  ", b"\t", b" trailing  "),
)  # fmt: skip
HARD_PATHS = (
    *("a b/x y.py", "b/ b/x.py", "x b/x", "д/ф.py", 'quo"te.txt', '"', "back\\slash", "tab\tname", "new\nline"),
    *("-dash", "a/a", "a/b/a/b", "trailing ", " lead", "\udcff.bin", "\r.txt", "dev/null", "{a => b}/c.js"),
    *("\x7f.go", "é.md", "@@ -1 +1 @@", "a\tb/ b/\t.py", "'single'.sql", "100%.c", "#hash.rb", "a?b&c=d.ts"),
)  # fmt: skip
# What stands at many places of real code, so that a quote of it alone names none.
REPEATED_LINES = (
    *(
        b"return nil, err",
        b"}",
        b"",
        b"pass",
        b"else:",
        b"    return None, error",
        b"\treturn nil, err",
        b"    }",
    ),
    *(
        b"if err != nil {",
        b"    self.lock.release()",
        b"    raise NotImplementedError",
        b"});",
        b"<div>",
        b"end",
    ),
)
_STATEMENTS = (
    "{a}_{b} = load_{c}({a}, limit={n})",
    "if {a}.{b} is None or len({c}) > {n}:",
    "return {a}.{b}({c}, {n})",
    'logger.info("{a} {b} after %d ms", {c}_{n})',
    "# The {a} keeps its {b} until the {c} is done, for at most {n} seconds.",
    "for {a} in sorted({b}.values(), key=lambda {c}: {c}.{a}):",
    "{a}[{n}] = [{b} for {b} in {c} if {b} != {n}]",
)
_WORDS = ("request", "user", "token", "cache", "index", "total", "queue", "value", "event", "cursor", "batch")
_ENDINGS = (".py", ".go", ".ts", ".java", ".sql", ".c", ".md", "")
_BLOCK = 8


def make_code(source: Random, lines: int, *, hard: float = 0.2) -> bytes:
    """Write a text file; `hard` is the share of lines that look like something else."""
    text = [_line(source, hard) for _ in range(lines)]
    match source.random():
        case chance if chance < 0.12:
            text = [line + b"\r" for line in text]
        case chance if chance < 0.24:
            text = [line + source.choice((b"", b"\r")) for line in text]
    return b"\n".join(text) + (b"\n" if source.random() < 0.8 else b"")


def edit_code(source: Random, content: bytes) -> bytes:
    """Change a text file at one to six places."""
    lines = content.split(b"\n")
    for _ in range(source.randint(1, 6)):
        at = source.randint(0, len(lines))
        match source.randint(0, 9):
            case 0 | 1 | 2:
                lines[at:at] = [_line(source, 0.2) for _ in range(source.randint(1, 6))]
            case 3 | 4:
                del lines[at : at + source.randint(1, 4)]
            case 5 | 6 | 7:
                lines[at : at + source.randint(1, 3)] = [
                    _line(source, 0.2) for _ in range(source.randint(1, 3))
                ]
            case 8:  # the same lines once more elsewhere
                start = source.randint(0, len(lines))
                lines[at:at] = lines[start : start + _BLOCK]
            case _:
                lines[at : at + 3] = [b"    " + line.strip(b" \r") for line in lines[at : at + 3]]
    match source.randint(0, 19):
        case 0:
            lines = [line.removesuffix(b"\r") for line in lines]
        case 1:
            lines = [line + b"\r" for line in lines]
        case 2 | 3:
            return b"\n".join(lines).rstrip(b"\n") + source.choice((b"", b"\n", b"\n\n"))
    return b"\n".join(lines)


def make_tree(source: Random, files: int, *, longest: int = 120) -> dict[str, Entry]:
    """Make a version of a repository; files have up to `longest` lines."""
    hard = source.sample(HARD_PATHS, min(files // 3, len(HARD_PATHS)))
    paths = [*hard, *(_path(source, number) for number in range(files - len(hard)))]
    return {path: _entry(source, longest) for path in paths}


def edit_tree(source: Random, old: dict[str, Entry]) -> dict[str, Entry]:
    """Make the next version: files edited, moved, copied, removed, added, or of another kind."""
    new: dict[str, Entry] = {}
    for number, (path, entry) in enumerate(old.items()):
        match source.choices(_FATES, _FATE_WEIGHTS)[0]:
            case "keep":
                new[path] = entry
            case "edit":
                new[path] = _edited(source, entry)
            case "move":
                new[f"moved/{path}"] = entry
            case "move and edit":
                new[f"moved/{path}"] = _edited(source, entry, lightly=True)
            case "copy":
                new[path] = _edited(source, entry)
                new[f"copied/{number}/{path}"] = _edited(source, entry, lightly=True)
            case "mode":
                new[path] = Entry(mode=EXECUTABLE if entry.mode == PLAIN else PLAIN, content=entry.content)
            case "kind":
                new[path] = _entry(source, 20)
    for number in range(source.randint(0, 3)):
        new[f"added/{_path(source, number)}"] = _entry(source, 60)
    return new


_FATES = ("keep", "edit", "move", "move and edit", "copy", "mode", "kind", "remove")
_FATE_WEIGHTS = (2, 12, 1, 2, 1, 1, 1, 1)


def _line(source: Random, hard: float) -> bytes:
    chance = source.random()
    if chance < hard:
        return source.choice(HARD_LINES)
    if chance < hard + 0.25:
        return source.choice(REPEATED_LINES)
    a, b, c = source.sample(_WORDS, 3)
    text = source.choice(_STATEMENTS).format(a=a, b=b, c=c, n=source.randint(1, 9999))
    return (source.choice(("", "    ", "        ", "\t", "\t\t")) + text).encode()


def _path(source: Random, number: int) -> str:
    folder, name = source.sample(_WORDS, 2)
    return f"src/{folder}/{name}{number}{source.choice(_ENDINGS)}"


def _entry(source: Random, longest: int) -> Entry:
    match source.randint(0, 24):
        case 0:
            return Entry(mode=PLAIN, content=b"")
        case 1:
            return Entry(mode=PLAIN, content=b"\0\1" + source.randbytes(40))
        case 2:
            return Entry(mode=SYMLINK, content=source.choice((b"../target", b"a b", b"x\ny")))
        case 3:
            return Entry(mode=SUBMODULE, content=source.randbytes(20).hex().encode())
        case 4:
            return Entry(mode=EXECUTABLE, content=make_code(source, source.randint(1, longest)))
    return Entry(mode=PLAIN, content=make_code(source, source.randint(1, longest)))


def _edited(source: Random, entry: Entry, *, lightly: bool = False) -> Entry:
    if entry.mode == SUBMODULE:
        return Entry(mode=SUBMODULE, content=source.randbytes(20).hex().encode())
    if lightly and entry.mode != SYMLINK:  # so that git still takes it for the same file
        return Entry(mode=entry.mode, content=entry.content + b"\n" + source.choice(HARD_LINES) + b"\n")
    return Entry(mode=entry.mode, content=edit_code(source, entry.content))
