"""JSON of commits, changed files and commit statuses."""

from deploy.sandbox.git import Commit
from deploy.sandbox.gitlab.changes import Listed
from deploy.sandbox.gitlab.options import Options
from deploy.sandbox.gitlab.shapes.accounts import Json, timestamp, user_json
from deploy.sandbox.gitlab.state import CommitStatus, Project, State


def commit_json(state: State, project: Project, commit: Commit) -> Json:
    """Shape a commit."""
    return {
        "id": commit.sha,
        "short_id": commit.sha[:8],
        "created_at": timestamp(commit.date),
        "parent_ids": list(commit.parents),
        "title": commit.message.partition("\n")[0],
        "message": commit.message,
        "author_name": commit.author,
        "author_email": commit.email,
        "authored_date": timestamp(commit.date),
        "committer_name": commit.author,
        "committer_email": commit.email,
        "committed_date": timestamp(commit.date),
        "trailers": {},
        "extended_trailers": {},
        "web_url": _url(state, project, commit),
    }


def hook_commit_json(state: State, project: Project, commit: Commit) -> Json:
    """Shape a commit as webhooks do."""
    return {
        "id": commit.sha,
        "message": commit.message,
        "title": commit.message.partition("\n")[0],
        "timestamp": commit.date.isoformat(),
        "url": _url(state, project, commit),
        "author": {"name": commit.author, "email": "[REDACTED]"},
    }


def change_json(listed: Listed, options: Options, *, unidiff: bool = False) -> Json:
    """Shape a changed file; text that is not UTF-8 is repaired, as GitLab does before it writes JSON."""
    change = listed.change
    diff = listed.patch.decode(errors="replace")
    if unidiff and diff:
        old = "/dev/null" if change.new_file else f"a/{change.old_path}"
        new = "/dev/null" if change.deleted_file else f"b/{change.new_path}"
        diff = f"--- {old}\n+++ {new}\n{diff}"
    shaped: Json = {
        "diff": diff,
        "new_path": readable(change.new_path),
        "old_path": readable(change.old_path),
        "a_mode": change.a_mode,
        "b_mode": change.b_mode,
        "new_file": change.new_file,
        "renamed_file": change.renamed_file,
        "deleted_file": change.deleted_file,
    }
    if options.has(16, 9):
        shaped["generated_file"] = change.generated_file
    if options.has(18, 4):
        shaped |= {"collapsed": listed.collapsed, "too_large": listed.too_large}
    return shaped


def status_json(state: State, status: CommitStatus) -> Json:
    """Shape a commit status."""
    return {
        "id": status.id,
        "sha": status.sha,
        "ref": status.ref,
        "status": status.status,
        "name": status.name,
        "target_url": status.target_url,
        "description": status.description,
        "created_at": timestamp(status.created_at),
        "started_at": timestamp(status.started_at),
        "finished_at": timestamp(status.finished_at),
        "allow_failure": False,
        "coverage": None,
        "pipeline_id": status.pipeline_id,
        "author": user_json(state, status.user),
    }


def readable(path: str) -> str:
    """Repair a path that is not UTF-8."""
    return path.encode(errors="surrogateescape").decode(errors="replace")


def _url(state: State, project: Project, commit: Commit) -> str:
    return f"{state.web_url}/{project.path_with_namespace}/-/commit/{commit.sha}"
