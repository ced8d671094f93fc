"""The mark on a commit: an external status, which GitLab moves from state to state.

https://docs.gitlab.com/api/commits/#set-commit-pipeline-status
"""

import time

from bot.events import PullRequestRef
from bot.forges.base import ForgeUnavailable, Status, StatusState
from bot.forges.gitlab_client import Endpoint, GitLabClient, failure, object_in, understood

NAME = "redline"
MAX_DESCRIPTION = 255
_CONFLICT_PAUSES_S = (0.2, 0.5, 1.0)

# GitLab knows no neutral: what went wrong stands in the description, and nothing turns red for it.
_STATES = {
    StatusState.SUCCESS: "success",
    StatusState.NEUTRAL: "success",
    StatusState.FAILURE: "failed",
}


def set_commit_status(
    client: GitLabClient, ref: PullRequestRef, head_sha: str, status: Status, status_id: str
) -> str:
    """Move the commit's status on, or begin one, and return its id.

    GitLab keeps one unfinished status per name, so a lost id costs nothing. A status that is in this state
    already stays as it is, description included, and one on a commit that lies only in a fork is refused.
    """
    endpoint = Endpoint(
        project=ref.repository,
        path=f"/statuses/{head_sha}",
        what=f"the status of {ref.repository}!{ref.number}",
        role="Developer",
    )
    # Waiting first and running from then on: this way two of the descriptions on the way are seen.
    state = _STATES.get(status.state) or ("running" if status_id else "pending")
    body = {"state": state, "name": NAME, "description": status.description[:MAX_DESCRIPTION]}
    for pause_s in (*_CONFLICT_PAUSES_S, None):
        reply = client.ask(endpoint, "POST", body=body)
        if reply.status != 409:
            break
        if pause_s is None:
            raise ForgeUnavailable(f"GitLab is busy with {endpoint.what} (409 {reply.text}).")
        time.sleep(pause_s)  # another update of the same pipeline is under way
    if reply.status == 400 and "cannot transition" in reply.text.lower():
        return status_id
    if reply.status >= 300:
        raise failure(reply, endpoint, unclear=True)
    with understood(endpoint, unclear=True):
        return object_in(reply, endpoint, unclear=True).get_id("id")
