"""What the views work with, kept by the application."""

from collections.abc import Callable
from dataclasses import dataclass

from flask import current_app

from bot.db.engine import Database
from bot.settings import Settings

Publish = Callable[[int, str], None]
_KEY = "redline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The settings, the database, publishing a review to a queue, and the token that admins log in with."""

    settings: Settings
    database: Database
    publish: Publish
    admin_token: str


def current_services() -> Services:
    """Give the services of the application that handles this request."""
    services = current_app.extensions[_KEY]
    assert isinstance(services, Services)  # noqa: S101 - create_app put it there; this is for the type checker
    return services
