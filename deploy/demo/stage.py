"""What the demo reviews: the shop that lies beside this file, or a range of any local git repository."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from deploy.sandbox.forge import ForgeSandbox

SHOP = Path(__file__).parent / "shop"
TITLE = "Search orders, simplify storage"
DESCRIPTION = (
    "Adds a search over order notes, simplifies sessions and file access, and gives the money functions a module "
    "of their own."
)


class StageError(Exception):
    """The range cannot be reviewed; the text says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """A repository of the sandbox and the two branches of the pull request to be opened."""

    repository: str
    base: str
    head: str
    title: str
    description: str


def stage_shop(sandbox: ForgeSandbox) -> Branches:
    """Make the shop: real bugs, a deleted check, a rename, white space noise and a lock file in one change."""
    base, head = _files(SHOP / "base"), _files(SHOP / "head")
    sandbox.create_repository("acme/shop", dict(base))
    sandbox.commit(
        "acme/shop",
        "simplify",
        {**head, **{path: None for path in base if path not in head}},
        message=TITLE,
        start="main",
    )
    return Branches(
        repository="acme/shop", base="main", head="simplify", title=TITLE, description=DESCRIPTION
    )


def stage_range(sandbox: ForgeSandbox, repository: Path, base: str, head: str) -> Branches:
    """Take a range of a local git repository; nothing is written to it. Raises StageError."""
    name = f"local/{repository.resolve().name or 'repository'}"
    revisions = [_resolve(repository, revision) for revision in (base, head)]
    if _git(repository, "diff", "--quiet", f"{revisions[0]}...{revisions[1]}").returncode == 0:
        raise StageError(
            f"{base}...{head} changes nothing: name two revisions that differ with BASE and HEAD"
        )
    sandbox.create_repository(name, {})
    sandbox.import_branch(name, repository, *revisions, base="base", head="head")
    title = _git(repository, "log", "-1", "--format=%s", revisions[1]).stdout.strip() or f"{base}...{head}"
    return Branches(repository=name, base="base", head="head", title=title, description="")


def _resolve(repository: Path, revision: str) -> str:
    found = _git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found.returncode:
        raise StageError(
            f"{revision!r} is no commit of {repository}: name a git repository with REPO, and commits or branches "
            "with BASE and HEAD"
        )
    return found.stdout.strip()


def _git(repository: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["git", "-C", str(repository), *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def _files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
