"""GitLab's error answers, word for word where the source or a report shows them."""

from collections.abc import Mapping, Sequence


class ApiError(Exception):
    """An answer other than success; GitLab words it under "message" or under "error"."""

    def __init__(self, status: int, body: object, *, headers: dict[str, str] | None = None) -> None:
        super().__init__(str(body))
        self.status = status
        self.body = body
        self.headers = headers or {}


def unauthorized() -> ApiError:
    """Refuse who sends no token, or one that is not known."""
    return ApiError(401, {"message": "401 Unauthorized"})


def insufficient_scope(needed: str) -> ApiError:
    """Refuse a token that was made for less."""
    return ApiError(
        403,
        {
            "error": "insufficient_scope",
            "error_description": "The request requires higher privileges than provided by the access token.",
            "scope": needed,
        },
    )


def forbidden() -> ApiError:
    """Refuse a user whose role does not suffice."""
    return ApiError(403, {"message": "403 Forbidden"})


def not_found(what: str = "") -> ApiError:
    """Say that it is not there, or that this user may not know."""
    return ApiError(404, {"message": f"404 {what + ' ' if what else ''}Not Found"})


def bad_request(reason: str) -> ApiError:
    """Refuse what the API's own checks accepted."""
    return ApiError(400, {"message": f"400 Bad request - {reason}"})


def invalid_note(errors: Mapping[str, Sequence[str]]) -> ApiError:
    """Refuse a note with Ruby's way to print a hash, which is what GitLab sends."""
    quoted = ", ".join(
        f":{name}=>[{', '.join(_ruby(text) for text in texts)}]" for name, texts in errors.items()
    )
    return bad_request(f"Note {{{quoted}}}")


def invalid_params(*problems: str) -> ApiError:
    """Refuse parameters that are missing or of the wrong type."""
    return ApiError(400, {"error": ", ".join(problems)})


def server_error() -> ApiError:
    """Answer as GitLab does when something broke inside."""
    return ApiError(500, {"message": "500 Internal Server Error"})


def _ruby(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
