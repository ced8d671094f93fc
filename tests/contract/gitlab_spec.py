"""Check recorded requests against the description of GitLab's API.

    spec = GitLabSpec.load()
    sandbox.observers.append(spec.check)
    ...
    assert spec.violations == []

It describes no answers, apart from their statuses; what they hold is compared with real ones in
`test_gitlab_sandbox.py`.
"""

from deploy.sandbox.recording import RecordedRequest
from tests.contract.openapi import MISSING, SPECS, Description, Spec

__all__ = ["MISSING", "SPECS", "GitLabSpec", "status_problems"]

_FILE = SPECS / "gitlab-bot-subset.json"
_REST = Description(file=_FILE, prefix="/api/v4")
_COMMANDS_ONLY = 202  # a note of quick actions alone, which the description forgot


class GitLabSpec(Spec):
    """Collect what is wrong with requests to GitLab."""

    @staticmethod
    def is_available() -> bool:
        """Tell whether the specifications lie beside the repository."""
        return _FILE.exists()

    @classmethod
    def load(cls) -> "GitLabSpec":
        """Make a spec with no violations; the file is read once per process."""
        return cls(_REST)


def status_problems(request: RecordedRequest) -> list[str]:
    """List what is wrong with the status of an answer."""
    operation, _ = _REST.find(request.method, request.path)
    described = _REST.document["paths"][operation.path][request.method.lower()]["responses"]
    if str(request.status) in described or (
        request.status == _COMMANDS_ONLY and operation.path.endswith(("/notes", "/notes/{note_id}"))
    ):
        return []
    return [f"status {request.status} is not described for {request.method} {operation.path}"]
