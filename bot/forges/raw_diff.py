"""A diff as git writes it, cut into the sections of its files so that single ones can be taken out."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.forges.git_format import Change, FileChange

# No line inside a hunk starts with a letter, nor does a line of a binary patch hold a space.
_SECTION = re.compile(rb"^diff --git .*$", re.MULTILINE)
_MARKS = {Change.ADDED: b"\nnew file mode ", Change.REMOVED: b"\ndeleted file mode "}


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDiff:
    """The sections in order by their first lines, which name the file; one whose type changed has two."""

    sections: Mapping[bytes, Sequence[bytes]]

    @classmethod
    def read(cls, data: bytes) -> "RawDiff | None":
        """Cut a diff; None if it is none, but the page of a proxy."""
        starts = list(_SECTION.finditer(data))
        if data and not (starts and starts[0].start() == 0):
            return None
        bounds = [*(start.start() for start in starts), len(data)]
        sections: dict[bytes, list[bytes]] = {}
        for start, end in zip(starts, bounds[1:], strict=True):
            sections.setdefault(start[0], []).append(data[start.start() : end])
        return cls(sections=sections)

    def section_of(self, change: FileChange) -> bytes | None:
        """Give the section of a file if it is about the same change: a rename may be two files here."""
        candidates = (text for title in _titles(change) for text in self.sections.get(title, ()))
        return next((text for text in candidates if _is_of(text, change)), None)

    def sections_beside(self, changes: Iterable[FileChange]) -> bytes:
        """Give the sections of files that have nothing to do with these."""
        known: set[bytes] = set()
        for change in changes:
            for path in (change.old_path, change.new_path):
                known |= _titles(replace(change, old_path=path, new_path=path))
            known |= _titles(change)
        return b"".join(b"".join(texts) for title, texts in self.sections.items() if title not in known)


def _titles(change: FileChange) -> set[bytes]:
    """Give both ways in which git writes a name that is not ASCII, by its configuration."""
    return {change.title.encode("utf-8", "surrogateescape"), change.escaped_title}


def _is_of(text: bytes, change: FileChange) -> bool:
    """Tell whether a section adds the file, removes it, or does neither, as the change does."""
    header = text.partition(b"\n@@ ")[0]
    return all((mark in header) is (kind is change.change) for kind, mark in _MARKS.items())
