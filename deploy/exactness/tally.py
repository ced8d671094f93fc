"""What came of the remarks on one forge, as numbers."""

from collections import Counter
from dataclasses import dataclass, field, fields

_SHOWN_PROBLEMS = 5


@dataclass(slots=True, kw_only=True)
class Tally:
    """What came of the remarks on one forge.

    `posted` anchors stand on the forge. `refused` requests were answered with an error, `lost` are findings that
    had a place and stand nowhere. `mismatched` stand under another text than they quote, or elsewhere than they
    say. `declined` found no place, by the reason; `wrongly_posted` are those of them that stand all the same.
    `different` counts what our model of a diff says otherwise than git. `problems` describe the first of all these.
    """

    forge: str
    pull_requests: int = 0
    lines: int = 0
    remarks: int = 0
    posted: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    ranges: int = 0
    old_side: int = 0
    suggestions: int = 0
    refused: int = 0
    lost: int = 0
    mismatched: int = 0
    wrongly_posted: int = 0
    different: int = 0
    dropped: int = 0
    declined: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    _noted: Counter[str] = field(default_factory=Counter)

    @property
    def is_exact(self) -> bool:
        """Tell whether nothing was refused, lost or put under another text."""
        return not (self.refused or self.lost or self.mismatched or self.wrongly_posted or self.different)

    def to_dict(self) -> dict[str, object]:
        """Give all figures by their names, for JSON."""
        names = (field.name for field in fields(self) if not field.name.startswith("_"))
        figures = {name: getattr(self, name) for name in names}
        return {
            **figures,
            "by_kind": dict(self.by_kind),
            "declined": dict(self.declined),
            "exact": self.is_exact,
        }

    def note(self, what: str, problem: str) -> None:
        """Keep a description of something that went wrong, if there are not many of its kind yet."""
        self._noted[what] += 1
        if self._noted[what] <= _SHOWN_PROBLEMS:
            self.problems.append(f"{what}: {problem}")
