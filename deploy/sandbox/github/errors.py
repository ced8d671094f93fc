"""GitHub's error answers, word for word where one was seen."""

from collections.abc import Sequence

DOCS = "https://docs.github.com/rest"


class ApiError(Exception):
    """An answer other than success; `errors` is a list of strings or of objects, as GitHub does both."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        errors: Sequence[str | dict[str, str]] | None = None,
        documentation_url: str = DOCS,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}
        self.body: dict[str, object] = {"message": message}
        if errors is not None:
            self.body["errors"] = list(errors)
        self.body |= {"documentation_url": documentation_url, "status": str(status)}


def not_found() -> ApiError:
    """Say that it is not there, or that this token may not know."""
    return ApiError(404, "Not Found")


def not_accessible_by_integration() -> ApiError:
    """Refuse an App that lacks the permission."""
    return ApiError(403, "Resource not accessible by integration")


def unprocessable(*errors: str) -> ApiError:
    """Refuse with sentences, as the reviews endpoint does."""
    return ApiError(422, "Unprocessable Entity", errors=errors)


def invalid(resource: str, field: str, message: str | None = None, *, code: str = "custom") -> ApiError:
    """Refuse with an object that names the field."""
    error = {"resource": resource, "code": code, "field": field}
    return ApiError(422, "Validation Failed", errors=[error | ({"message": message} if message else {})])


def invalid_request(problem: str) -> ApiError:
    """Refuse a body that does not fit the endpoint's JSON schema."""
    return ApiError(422, f"Invalid request.\n\n{problem}")
