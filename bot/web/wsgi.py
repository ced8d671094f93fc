"""The WSGI application for gunicorn: `gunicorn -c python:bot.web.gunicorn_config bot.web.wsgi:app`."""

from bot.admin_token import load_admin_token
from bot.broker import BackgroundPublisher, make_celery
from bot.db.engine import open_database
from bot.embedded import resolve_broker_url
from bot.intake import Intake
from bot.settings import load_settings
from bot.telemetry.logs import set_up_logs
from bot.web.app import create_app
from bot.web.services import Services

settings = load_settings()
set_up_logs(settings.log_format)

database = open_database(settings.effective_database_url)

app = create_app(
    Services(
        settings=settings,
        database=database,
        intake=Intake(
            database=database,
            publish=BackgroundPublisher(make_celery(resolve_broker_url(settings))).publish,
            low_queue_tokens=settings.low_queue_tokens,
        ),
        admin_token=load_admin_token(settings),
    )
)
