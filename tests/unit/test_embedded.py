"""The embedded broker, and which broker is used."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest
from redis import Redis

from bot.broker import HIGH, BrokerUnavailable, make_celery, publish_review
from bot.embedded import (
    EmbeddedBrokerError,
    embedded_broker,
    find_server,
    resolve_broker_url,
    socket_path,
)
from bot.settings import Settings, SettingsError


def test_a_message_published_is_there_after_a_restart(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    for expected in (1, 2):
        with embedded_broker(settings):
            app = make_celery(resolve_broker_url(settings))
            publish_review(app, expected, HIGH)
            with app.connection_for_read() as connection:
                channel = connection.default_channel
                assert channel.client.llen("high") == expected
            app.close()


def test_two_on_one_folder_are_refused(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with (
        embedded_broker(settings),
        pytest.raises(SettingsError, match="REDLINE_DATA_DIR"),
        embedded_broker(settings),
    ):
        pass


def test_a_folder_whose_path_is_too_long_for_a_socket_works(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / ("long" * 30))
    assert len(str(socket_path(settings.data_dir))) <= 100
    with embedded_broker(settings):
        publish_review(make_celery(resolve_broker_url(settings)), 1, HIGH)


def test_a_configured_broker_wins_and_none_is_started(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, broker_url="redis://127.0.0.1:9/0")
    with embedded_broker(settings):
        assert resolve_broker_url(settings) == "redis://127.0.0.1:9/0"
        assert not socket_path(tmp_path).exists()


def test_a_broker_that_is_not_there_is_told_within_seconds() -> None:
    with pytest.raises(BrokerUnavailable):
        publish_review(make_celery("redis://127.0.0.1:9/0"), 1, HIGH)


def test_a_server_is_found_without_anything_installed_by_hand() -> None:
    assert find_server() is not None


def process_id(settings: Settings) -> int:
    with Redis(unix_socket_path=str(socket_path(settings.data_dir))) as client:
        return int(client.info("server")["process_id"])


def test_a_broker_that_ends_by_itself_is_noticed_and_told(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    noticed = threading.Event()

    def run_and_kill() -> None:
        with embedded_broker(settings, noticed.set):
            os.kill(process_id(settings), signal.SIGKILL)
            assert noticed.wait(5)

    with pytest.raises(EmbeddedBrokerError, match=r"ended by itself.*valkey\.log"):
        run_and_kill()


def test_a_broker_that_does_not_stop_when_asked_is_killed(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    with embedded_broker(settings):
        process = process_id(settings)
        os.kill(process, signal.SIGSTOP)
        started = time.monotonic()
    assert time.monotonic() - started < 8
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
