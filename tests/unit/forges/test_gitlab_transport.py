"""What is sent to GitLab, how often, and where (forges.md C7, cases I1 to I3)."""

import itertools
import json
import logging
import socket
import ssl
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bot.forges.base import (
    AnswerUnclear,
    FileTooLarge,
    ForgeDenied,
    ForgeMissing,
    ForgeRejected,
    ForgeUnavailable,
)
from bot.forges.gitlab_client import Endpoint, GitLabClient
from bot.forges.gitlab_transport import GitLabTransport

TOKEN = "glpat-secret-123"
PROJECT = Endpoint(project="acme/web/shop", path="/x", what="the thing", role="Developer")


@pytest.fixture
def transport(server):
    made = GitLabTransport(f"{server.url}/git", TOKEN, timeout_s=20.0, backoff_s=0.01, max_wait_s=3.0)
    yield made
    made.close()


def send(transport, verb, **kw):
    return transport.exchange(verb, "/projects/1/x", what="the thing", **kw)


@pytest.mark.parametrize("given", ["", "/", "/api/v4", "/api/v4/"])
def test_i3_the_configured_address_with_its_path_is_where_requests_go(server, given):
    transport = GitLabTransport(f"{server.url}/git{given}", TOKEN)
    send(transport, "GET")
    transport.close()
    assert server.seen[0].path == "/git/api/v4/projects/1/x"
    assert server.seen[0].headers["PRIVATE-TOKEN"] == TOKEN


def test_i1_a_project_in_nested_groups_is_one_part_of_the_address(server, transport):
    GitLabClient(transport).ask(PROJECT)
    assert server.seen[0].path == "/git/api/v4/projects/acme%2Fweb%2Fshop/x"


@pytest.mark.parametrize("project", ["shop", "../shop", "acme/..", "acme/shop?x=", "acme shop/x"])
def test_a_name_that_leads_elsewhere_is_never_sent(server, transport, project):
    with pytest.raises(ForgeMissing):
        GitLabClient(transport).ask(Endpoint(project=project, path="/x", what="x"))
    assert server.seen == []


def test_a_read_is_repeated_after_server_errors(server, transport, told):
    server.answers = [told(status=502, body=b"<html>"), told(drop=True), told(body=b'{"a": 1}')]
    assert send(transport, "GET").json() == {"a": 1}
    assert [seen.verb for seen in server.seen] == ["GET"] * 3


def test_a_read_gives_up_and_tells_the_last_answer(server, transport, told):
    server.answers = [told(status=503)] * 9
    assert send(transport, "GET").status == 503
    assert len(server.seen) == 3


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408])
def test_a_post_is_sent_once_whatever_the_server_error(server, transport, told, status):
    server.answers = [told(status=status, headers={"Retry-After": "0"})] * 9
    assert send(transport, "POST", body={"body": "x"}).status == status
    assert len(server.seen) == 1
    assert json.loads(server.seen[0].body) == {"body": "x"}


def test_a_post_is_sent_once_if_the_answer_is_late(server, told):
    impatient = GitLabTransport(server.url, TOKEN, timeout_s=0.3, backoff_s=0.01)
    server.answers = [told(delay_s=20.0)]
    with pytest.raises(AnswerUnclear, match="no answer in time"):
        send(impatient, "POST", body={})
    assert len(server.seen) == 1
    impatient.close()


def test_a_post_is_sent_once_if_the_connection_breaks(server, transport, told):
    server.answers = [told(drop=True)]
    with pytest.raises(AnswerUnclear):
        send(transport, "POST", body={})
    assert len(server.seen) == 1


def test_a_write_that_changes_nothing_twice_may_be_repeated(server, transport, told):
    server.answers = [told(status=502), told(drop=True), told()]
    assert send(transport, "PUT", body={}, repeatable=True).status == 200
    assert len(server.seen) == 3


def test_a_post_that_never_left_is_no_unclear_answer():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        closed = GitLabTransport(f"http://127.0.0.1:{taken.getsockname()[1]}", TOKEN, backoff_s=0.0)
        with pytest.raises(ForgeUnavailable, match="GitLab cannot be reached") as caught:
            send(closed, "POST", body={})
    assert not isinstance(caught.value, AnswerUnclear)


@pytest.mark.parametrize("verb", ["GET", "POST"])
def test_a_short_rate_limit_is_sat_out(server, transport, told, verb):
    server.answers = [told(status=429, body=b"Retry later\n", headers={"Retry-After": "1"}), told(status=201)]
    started = time.monotonic()
    assert send(transport, verb).status == 201
    assert time.monotonic() - started >= 1.0
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("headers", "wait"), [({"Retry-After": "90"}, 90.0), ({}, 60.0), ({"Retry-After": "soon"}, 60.0)]
)
def test_a_long_rate_limit_is_the_callers_to_wait(server, transport, told, headers, wait):
    server.answers = [told(status=429, body=b"Retry later\n", headers=headers)] * 9
    with pytest.raises(ForgeUnavailable) as caught:
        send(transport, "POST")
    assert caught.value.retry_after_s == wait
    assert not isinstance(caught.value, AnswerUnclear)
    assert len(server.seen) == 1


def test_the_limit_is_waited_for_until_its_reset(server, transport, told):
    server.answers = [told(status=429, headers={"RateLimit-Reset": str(int(time.time()) + 500)})]
    with pytest.raises(ForgeUnavailable) as caught:
        send(transport, "GET")
    assert 495 < (caught.value.retry_after_s or 0) < 503


def test_a_rate_limit_without_end_is_not_an_endless_loop(server, transport, told):
    server.answers = [told(status=429, headers={"Retry-After": "0"})] * 50
    with pytest.raises(ForgeUnavailable):
        send(transport, "POST")
    assert len(server.seen) == 4


@pytest.mark.parametrize("case", [*itertools.product(["GET", "POST", "PUT"], [301, 302, 307, 308])])
def test_i3_no_redirect_is_followed(server, elsewhere, transport, told, case):
    """It would take the token along; and a POST would become a GET."""
    verb, status = case
    for location in (f"{elsewhere.url}/git/api/v4/projects/1/x", f"{server.url}/git/users/sign_in"):
        server.answers = [told(status=status, headers={"Location": location})]
        assert send(transport, verb).status == status
    assert len(server.seen) == 2


@pytest.mark.parametrize(
    ("location", "kind", "word"),
    [
        ("/users/sign_in", ForgeDenied, "REDLINE_GITLAB_TOKEN"),
        ("https://git.example/git/users/sign_in?x", ForgeDenied, "sign in"),
        ("http://127.0.0.1/git/api/v4/projects/7/x", ForgeMissing, "renamed"),
        ("https://git.example/", ForgeRejected, "REDLINE_GITLAB_URL"),
    ],
)
def test_where_a_redirect_leads_says_what_is_wrong(server, transport, told, location, kind, word):
    server.answers = [told(status=302, headers={"Location": location})]
    with pytest.raises(kind, match=word) as caught:
        GitLabClient(transport).read(PROJECT)
    assert "git.example" not in str(caught.value)


def test_i3_no_page_is_looked_for_elsewhere(server, elsewhere, transport, told):
    """Behind a proxy, links often name another address than the one that is reached."""
    link = f'<{elsewhere.url}/api/v4/projects/1/x?page=2>; rel="next"'
    server.answers = [
        told(body=b'[{"id": 1}]', headers={"Link": link, "X-Next-Page": "2"}),
        told(body=b'[{"id": 9}]', headers={"Link": link, "X-Next-Page": ""}),
    ]
    listed = GitLabClient(transport).read_list(PROJECT)
    assert [item.get_id("id") for item in listed] == ["1", "9"]
    assert [seen.path.partition("?")[2] for seen in server.seen] == [
        "per_page=100&page=1",
        "per_page=100&page=2",
    ]


def test_a_list_without_end_is_given_up(server, transport, told):
    server.route = lambda _seen: told(body=b'[{"id": 1}]', headers={"X-Next-Page": "2"})
    with pytest.raises(ForgeRejected, match="more than"):
        GitLabClient(transport).read_list(PROJECT, max_pages=3)
    assert len(server.seen) == 3


def test_the_bytes_of_an_answer_survive(server, transport, told):
    body = "+Zoë 😀 \x85\u2028".encode() + b"\xff\xfe latin-1: \xe9\r\n" + bytes(range(256))
    server.answers = [told(body=body, headers={"Content-Type": "text/plain; charset=utf-8"})]
    assert send(transport, "GET").content == body


def test_no_more_is_read_than_was_asked_for(server, transport, told):
    server.answers = [told(body=b"x" * 300_000)] * 3
    with pytest.raises(FileTooLarge):
        send(transport, "GET", max_bytes=100_000)
    assert send(transport, "GET", max_bytes=300_000).content == b"x" * 300_000


def test_threads_do_not_get_each_others_answers(server, transport, told):
    server.route = lambda seen: told(body=json.dumps({"path": seen.path}).encode())

    def ask(number):
        answer = transport.exchange("GET", f"/projects/{number}", what="x").json()
        return answer, {"path": f"/git/api/v4/projects/{number}"}

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(80)))
    assert all(answer == expected for answer, expected in answers)


def test_each_thread_has_a_connection_of_its_own(transport):
    both_run = threading.Barrier(2)

    def connection(_):
        both_run.wait(5)
        return transport._connection(), transport._connection()

    with ThreadPoolExecutor(2) as pool:
        (one, one_again), (other, _) = pool.map(connection, range(2))
    assert one is one_again
    assert one is not other


def test_the_token_stays_out_of_the_debug_log(server, transport, caplog):
    caplog.set_level(logging.DEBUG)
    send(transport, "GET")
    assert caplog.records
    assert TOKEN not in caplog.text


@pytest.mark.parametrize(
    ("status", "body", "kind", "words"),
    [
        (401, {"message": "401 Unauthorized"}, ForgeDenied, ["scope api", "CI_JOB_TOKEN", "REDLINE_GITLAB_TOKEN"]),
        (401, {"error": "invalid_token", "error_description": "Token is expired."}, ForgeDenied, ["expired"]),
        (403, {"error": "insufficient_scope", "scope": "api"}, ForgeDenied, ["needs the scope api"]),
        (403, {"message": "403 Forbidden"}, ForgeDenied, ["role Developer", "acme/web/shop", "scope api"]),
        (404, {"message": "404 Project Not Found"}, ForgeMissing, ["role Developer", "acme/web/shop"]),
        (405, {"message": "405 Non GET methods are not allowed for moved projects"}, ForgeMissing, ["renamed"]),
        (400, {"message": {"note": ["can't be blank"]}}, ForgeRejected, ["can't be blank"]),
        (409, {"message": ["busy", "locked"]}, ForgeRejected, ["busy"]),
        (500, {"message": "500 Internal Server Error"}, AnswerUnclear, ["may be there or not"]),
        (502, "<html>Bad Gateway</html>", AnswerUnclear, ["(502)"]),
        (403, "Forbidden\n", ForgeDenied, ["(403)"]),
    ],
)  # fmt: skip
def test_i1_errors_say_which_scope_or_role_is_missing(server, transport, told, status, body, kind, words):
    raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    server.answers = [told(status=status, body=raw)] * 3
    with pytest.raises(kind) as caught:
        GitLabClient(transport).write("POST", PROJECT, {})
    for word in (*words, "the thing"):
        assert word in str(caught.value)
    assert len(server.seen) == 1, "no storm of repeats"


@pytest.mark.parametrize("body", [b"<html>sign in</html>", b"[]", b"7", b"\xff", b"[" * 100_000])
def test_an_answer_that_makes_no_sense_is_tried_again_later(server, transport, told, body):
    server.answers = [told(body=body)] * 3
    with pytest.raises(ForgeUnavailable, match="cannot be understood"):
        GitLabClient(transport).read_object(PROJECT)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Path:
    """Make a key and a certificate that no system knows, for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "gitlab.test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "ca.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(private)
    return folder / "ca.pem"


@pytest.fixture
def tls_server(server, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    server.encrypt(context)
    return server


def test_i3_an_authority_of_ones_own_is_trusted_by_its_file(tls_server, certificate):
    transport = GitLabTransport(tls_server.url, TOKEN, ca_file=certificate)
    assert send(transport, "GET").status == 200
    transport.close()


def test_i3_without_it_the_certificate_is_refused_and_the_setting_named(tls_server):
    transport = GitLabTransport(tls_server.url, TOKEN, backoff_s=0.0)
    with pytest.raises(ForgeUnavailable, match="REDLINE_GITLAB_CA_FILE") as caught:
        send(transport, "POST", body={})
    assert not isinstance(caught.value, AnswerUnclear)
    assert tls_server.seen == []
    transport.close()
