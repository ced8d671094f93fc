"""The latency page and its data."""

import csv
import io

import httpx
import pytest

from tests.world import ADMIN_TOKEN, World, finding

pytestmark = pytest.mark.forge("github")


@pytest.fixture
def reviewed(world: World) -> World:
    world.llm.will_say([finding()])
    world.open_pull_request()
    world.run()
    return world


def get(world: World, path: str, token: str | None = ADMIN_TOKEN) -> httpx.Response:
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    return httpx.get(f"{world.web.url}{path}", headers=headers)


def test_figures_are_the_same_as_page_json_and_csv(reviewed: World) -> None:
    (group,) = get(reviewed, "/admin/latency.json?by=queue").json()
    (row,) = csv.DictReader(io.StringIO(get(reviewed, "/admin/latency.csv?by=queue").text))
    page = get(reviewed, "/admin/latency?by=queue").text

    assert (group["key"], group["reviews"]) == ("high", 1)
    assert (row["key"], row["reviews"]) == ("high", "1")
    assert float(row["total_ms_p95"]) == pytest.approx(group["total_ms"]["p95"], abs=0.001)
    assert group["total_ms"]["p50"] == pytest.approx(reviewed.latency()[0].total_ms)
    assert "first token" in page


@pytest.mark.parametrize("path", ["/admin/latency.json", "/admin/latency.csv"])
@pytest.mark.parametrize("token", [None, "wrong", "é"])
def test_data_is_for_admins_only(reviewed: World, path: str, token: str | None) -> None:
    headers = [(b"Authorization", f"Bearer {token}".encode())] if token is not None else []
    answer = httpx.get(f"{reviewed.web.url}{path}", headers=headers)
    assert answer.status_code == 401
    assert answer.json() == {"error": "unauthorized"}


def test_people_log_in_and_out(reviewed: World) -> None:
    with httpx.Client(base_url=reviewed.web.url, follow_redirects=True) as browser:
        form = browser.get("/admin/latency?since=7d")
        assert "Admin token" in form.text
        assert browser.post("/admin/login", data={"token": "wrong"}).status_code == 401
        page = browser.post("/admin/login", data={"token": ADMIN_TOKEN, "next": "/admin/latency?since=7d"})
        assert "first token" in page.text
        assert page.url.query == b"since=7d"
        assert page.headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in page.headers["Content-Security-Policy"]
        browser.post("/admin/logout")
        assert "Admin token" in browser.get("/admin/latency").text


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "/admin\\@evil.example", "javascript:x"]
)
def test_login_leads_nowhere_else(world: World, target: str) -> None:
    answer = httpx.post(f"{world.web.url}/admin/login", data={"token": ADMIN_TOKEN, "next": target})
    assert answer.headers["Location"] == "/admin/latency"


@pytest.mark.parametrize("query", ["since=yesterday", "by=author", "since=-1h", "since=99999999999d"])
def test_a_filter_that_cannot_be_read_is_explained(reviewed: World, query: str) -> None:
    page = get(reviewed, f"/admin/latency?{query}")
    assert page.status_code == 400
    assert 'role="alert"' in page.text
    assert get(reviewed, f"/admin/latency.json?{query}").json()["error"]


def test_an_empty_table_says_how_to_fill_it(world: World) -> None:
    assert "Open a pull request" in get(world, "/admin/latency").text
    assert get(world, "/admin/latency.json").json() == []


def test_health(world: World) -> None:
    assert get(world, "/livez", None).json() == {"status": "ok"}
    assert get(world, "/readyz", None).status_code == 200
