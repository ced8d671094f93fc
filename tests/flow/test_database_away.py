"""A database that is away: every page says so, none breaks, and strangers learn no address."""

import socket
from collections.abc import Iterator

import httpx
import pytest

from bot.db.engine import open_database
from bot.web.app import create_app
from deploy.sandbox.httpd import BackgroundServer
from tests.world import ADMIN_TOKEN, World


@pytest.fixture
def address(world: World) -> Iterator[str]:
    """Give the address of a web process whose Postgres has gone."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    database = open_database(f"postgresql://redline:hidden@127.0.0.1:{port}/redline")
    server = BackgroundServer(
        create_app(world.services(world.settings, database)).wsgi_app, host="127.0.0.1", port=0
    )
    server.start()
    yield server.url
    server.stop()
    database.close()


@pytest.mark.parametrize("path", ["/admin/latency", "/admin/latency.json", "/admin/latency.csv"])
def test_admins_are_told_which_database_is_away(address: str, path: str) -> None:
    answer = httpx.get(f"{address}{path}", headers={"Authorization": f"Bearer {ADMIN_TOKEN}"})
    assert answer.status_code == 503
    assert "does not answer" in answer.text
    assert "hidden" not in answer.text
    if path.endswith(("json", "csv")):
        assert "127.0.0.1" in answer.json()["error"]


def test_strangers_are_told_that_it_is_not_ready_and_no_address(address: str) -> None:
    answer = httpx.get(f"{address}/readyz")
    assert answer.status_code == 503
    assert answer.json() == {"status": "unready", "reason": "the database does not answer: see the log"}
    assert httpx.get(f"{address}/livez").status_code == 200
