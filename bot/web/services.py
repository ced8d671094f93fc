"""What the views work with, kept by the application."""

from dataclasses import dataclass

from flask import current_app

from bot.db.engine import Database
from bot.intake import Intake
from bot.settings import Settings

_KEY = "redline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The settings, the database, where events are handed in, and the token that admins log in with."""

    settings: Settings
    database: Database
    intake: Intake
    admin_token: str


def current_services() -> Services:
    """Give the services of the application that handles this request."""
    services = current_app.extensions[_KEY]
    assert isinstance(services, Services)  # noqa: S101 - create_app put it there; this is for the type checker
    return services
