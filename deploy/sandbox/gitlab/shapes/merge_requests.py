"""JSON of merge requests and of the versions of their diffs."""

from deploy.sandbox.gitlab.changes import version_changes
from deploy.sandbox.gitlab.core import Core
from deploy.sandbox.gitlab.shapes.accounts import Json, hook_timestamp, timestamp, user_json
from deploy.sandbox.gitlab.shapes.commits import hook_commit_json
from deploy.sandbox.gitlab.shapes.projects import hook_project_json
from deploy.sandbox.gitlab.state import DiffVersion, MergeRequest, State, User

# Beyond this many files GitLab counts no further: https://docs.gitlab.com/api/merge_requests/#get-single-mr
CHANGES_COUNTED = 1_000
_STATE_IDS = {"opened": 1, "closed": 2, "merged": 3, "locked": 4}


def merge_request_json(core: Core, merge_request: MergeRequest, viewer: User) -> Json:
    """Shape a merge request; what depends on the diff is null until that is there."""
    state, version = core.state, merge_request.version
    changed = len(version_changes(merge_request.project, version)) if version else 0
    return {
        "id": merge_request.id,
        "iid": merge_request.iid,
        "project_id": merge_request.project.id,
        "title": merge_request.title,
        "description": merge_request.description,
        "state": merge_request.state,
        "created_at": timestamp(merge_request.created_at),
        "updated_at": timestamp(merge_request.updated_at),
        "merged_by": _optional_user(state, merge_request.merged_by),
        "merge_user": _optional_user(state, merge_request.merged_by),
        "merged_at": timestamp(merge_request.merged_at),
        "closed_by": _optional_user(state, merge_request.closed_by),
        "closed_at": timestamp(merge_request.closed_at),
        "target_branch": merge_request.target_branch,
        "source_branch": merge_request.source_branch,
        "user_notes_count": sum(not note.system for note in merge_request.notes),
        "upvotes": 0,
        "downvotes": 0,
        "author": user_json(state, merge_request.user),
        "assignees": [user_json(state, user) for user in merge_request.assignees],
        "assignee": _optional_user(state, next(iter(merge_request.assignees), None)),
        "reviewers": [user_json(state, user) for user in merge_request.reviewers],
        "source_project_id": merge_request.source.id if merge_request.source else None,
        "target_project_id": merge_request.project.id,
        "labels": list(merge_request.labels),
        **_draft_fields(core, merge_request),
        "milestone": None,
        "merge_when_pipeline_succeeds": False,
        "merge_status": "can_be_merged" if version else "checking",
        "detailed_merge_status": _merge_status(merge_request),
        "merge_after": None,
        "sha": merge_request.head_sha,
        "merge_commit_sha": merge_request.merge_commit_sha,
        "squash_commit_sha": None,
        "discussion_locked": merge_request.locked or None,
        "should_remove_source_branch": None,
        "force_remove_source_branch": True,
        "prepared_at": _prepared_at(merge_request),
        "reference": f"!{merge_request.iid}",
        "references": {
            "short": f"!{merge_request.iid}",
            "relative": f"!{merge_request.iid}",
            "full": f"{merge_request.project.path_with_namespace}!{merge_request.iid}",
        },
        "web_url": web_url(state, merge_request),
        "time_stats": {
            "time_estimate": 0,
            "total_time_spent": 0,
            "human_time_estimate": None,
            "human_total_time_spent": None,
        },
        "squash": False,
        "squash_on_merge": False,
        "task_completion_status": {"count": 0, "completed_count": 0},
        "has_conflicts": False,
        "blocking_discussions_resolved": True,
        "approvals_before_merge": None,
        "subscribed": False,
        "changes_count": _count(changed) if version else None,
        "latest_build_started_at": None,
        "latest_build_finished_at": None,
        "first_deployed_to_production_at": None,
        "pipeline": None,
        "head_pipeline": None,
        "diff_refs": diff_refs_json(version) if version else None,
        "merge_error": None,
        "first_contribution": False,
        "user": {"can_merge": viewer.access_level >= 30},
    }


def version_json(merge_request: MergeRequest, version: DiffVersion) -> Json:
    """Shape a version of the diff."""
    changed = len(version_changes(merge_request.project, version)) if version.is_ready else 0
    return {
        "id": version.id,
        "head_commit_sha": version.head_sha,
        "base_commit_sha": version.base_sha,
        "start_commit_sha": version.start_sha,
        "created_at": timestamp(version.created_at),
        "merge_request_id": merge_request.id,
        "state": "collected" if changed else "empty",
        "real_size": _count(changed) if changed else None,
        "patch_id_sha": None,
    }


def diff_refs_json(version: DiffVersion) -> Json:
    """Shape the three SHAs that a position names."""
    return {"base_sha": version.base_sha, "head_sha": version.head_sha, "start_sha": version.start_sha}


def web_url(state: State, merge_request: MergeRequest) -> str:
    """Return the address of the page."""
    return f"{state.web_url}/{merge_request.project.path_with_namespace}/-/merge_requests/{merge_request.iid}"


def hook_merge_request_json(core: Core, merge_request: MergeRequest) -> Json:
    """Shape a merge request as webhooks do, without what only one kind of them has."""
    state, source = core.state, merge_request.source
    assignee = next(iter(merge_request.assignees), None)
    last_commit = merge_request.project.git.commit_at(merge_request.head_sha)
    return {
        "assignee_id": assignee.id if assignee else None,
        "author_id": merge_request.user.id,
        "created_at": hook_timestamp(merge_request.created_at),
        "description": merge_request.description,
        **_draft_fields(core, merge_request),
        "head_pipeline_id": None,
        "id": merge_request.id,
        "iid": merge_request.iid,
        "last_edited_at": None,
        "last_edited_by_id": None,
        "merge_commit_sha": merge_request.merge_commit_sha,
        "merge_error": None,
        "merge_params": {"force_remove_source_branch": "1"},
        "merge_status": "can_be_merged" if merge_request.version else "checking",
        "merge_user_id": None,
        "merge_when_pipeline_succeeds": False,
        "milestone_id": None,
        "source_branch": merge_request.source_branch,
        "source_project_id": source.id if source else None,
        "state_id": _STATE_IDS[merge_request.state],
        "target_branch": merge_request.target_branch,
        "target_project_id": merge_request.project.id,
        "time_estimate": 0,
        "title": merge_request.title,
        "updated_at": hook_timestamp(merge_request.updated_at),
        "updated_by_id": None,
        "prepared_at": hook_timestamp(merge_request.versions[0].created_at)
        if merge_request.version
        else None,
        "assignee_ids": [user.id for user in merge_request.assignees],
        "blocking_discussions_resolved": True,
        "detailed_merge_status": _merge_status(merge_request),
        "first_contribution": False,
        "human_time_change": None,
        "human_time_estimate": None,
        "human_total_time_spent": None,
        "labels": hook_labels_json(merge_request),
        "last_commit": hook_commit_json(state, merge_request.project, last_commit),
        "reviewer_ids": [user.id for user in merge_request.reviewers],
        "source": hook_project_json(state, source) if source else None,
        "state": merge_request.state,
        "target": hook_project_json(state, merge_request.project),
        "time_change": 0,
        "total_time_spent": 0,
        "url": web_url(state, merge_request),
    }


def hook_labels_json(merge_request: MergeRequest) -> list[Json]:
    """Shape the labels of a merge request as webhooks do."""
    project, made = merge_request.project, hook_timestamp(merge_request.project.created_at)
    return [
        {
            "id": project.id * 1_000 + int.from_bytes(name.encode()) % 1_000,
            "title": name,
            "color": "#6699cc",
            "project_id": project.id,
            "created_at": made,
            "updated_at": made,
            "template": False,
            "description": None,
            "type": "ProjectLabel",
            "group_id": None,
        }
        for name in merge_request.labels
    ]


def _draft_fields(core: Core, merge_request: MergeRequest) -> Json:
    """Say whether it is a draft; old versions know only the other word for it."""
    known = core.options.has(14, 0)
    return {"draft": merge_request.draft if known else None, "work_in_progress": merge_request.draft}


def _prepared_at(merge_request: MergeRequest) -> str | None:
    return timestamp(merge_request.versions[0].created_at) if merge_request.version else None


def _merge_status(merge_request: MergeRequest) -> str:
    if merge_request.version is None:
        return "preparing"
    if merge_request.state != "opened":
        return "not_open"
    return "draft_status" if merge_request.draft else "mergeable"


def _count(changed: int) -> str:
    return str(changed) if changed <= CHANGES_COUNTED else f"{CHANGES_COUNTED}+"


def _optional_user(state: State, user: User | None) -> Json | None:
    return user_json(state, user) if user else None
