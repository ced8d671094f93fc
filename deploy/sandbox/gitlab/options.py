"""What differs between one GitLab and another: its version, its limits, and how late or odd it answers."""

from dataclasses import dataclass, field

NEWEST = "19.5.0"


@dataclass(slots=True, kw_only=True)
class DiffLimits:
    """What is left out of diffs: https://docs.gitlab.com/administration/diff_limits/."""

    patch_max_bytes: int = 204_800  # beyond it a file is too_large, and cannot be commented
    collapse_patch_bytes: int = 20_480  # a tenth of that: where /changes collapses a file
    collapse_after_lines: int = 5_000  # of all files before it
    collapse_after_files: int = 100
    overflow_after_files: int = 1_000


@dataclass(slots=True, kw_only=True)
class Options:
    """How this GitLab behaves."""

    version: str = NEWEST
    # Seconds from opening a merge request until its diff is there; until then the list of versions is empty,
    # or has one in state "empty" if `prepares_visibly`.
    prepare_s: float = 0.0
    prepares_visibly: bool = False
    # What becomes of a draft note whose position is wrong: "refuse" when it is made (as strict as can be), or
    # what GitLab was seen to do when it is published: "vanish" or "fail".
    bad_drafts: str = "refuse"
    # Publish so many draft notes, then answer 500 and leave all drafts where they are.
    break_publishing_after: int | None = None
    diff_limits: DiffLimits = field(default_factory=DiffLimits)

    def has(self, major: int, minor: int) -> bool:
        """Tell whether this GitLab is at least of that version."""
        have = [int(part) for part in self.version.split("-")[0].split(".")[:2]]
        return (have[0], have[1]) >= (major, minor)
