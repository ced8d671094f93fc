"""Settings for GitLab that cannot work stop the start (cases I2, I3)."""

import pytest

from bot.forges.base import ForgeDenied
from bot.forges.gitlab import GitLabForge
from bot.forges.registry import check_access, open_forges
from bot.settings import Settings, SettingsError, load_settings

SIGNING = "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U="


@pytest.mark.parametrize(
    ("prefix", "name"),
    [
        ("glcbt-64_x", "CI_JOB_TOKEN"),
        ("gldt-x", "deploy token"),
        ("glrt-x", "runner"),
        ("glft-x", "feed token"),
    ],
)
def test_i2_a_token_of_another_kind_is_named(prefix, name):
    with pytest.raises(SettingsError, match=name) as caught:
        check_access(Settings(gitlab_token=prefix))
    assert "scope api" in str(caught.value)


def test_a_webhook_without_a_token_to_review_with_is_refused():
    with pytest.raises(SettingsError, match="REDLINE_GITLAB_TOKEN"):
        check_access(Settings(gitlab_webhook_secret="s"))


@pytest.mark.parametrize("secret", [f"s, {SIGNING[:-3]}", "whsec_"])
def test_a_signing_token_that_is_cut_off_is_refused(secret):
    with pytest.raises(SettingsError, match="whsec_"):
        check_access(Settings(gitlab_webhook_secret=secret, gitlab_token="glpat-x"))


def test_what_can_work_is_taken():
    check_access(Settings(gitlab_webhook_secret=f"s, {SIGNING}", gitlab_token="glpat-x"))
    check_access(Settings())


@pytest.mark.parametrize("content", [b"", b"no certificate", b"\xff\xfe"])
def test_i3_a_file_without_certificates_is_refused(tmp_path, content):
    file = tmp_path / "ca.pem"
    file.write_bytes(content)
    with pytest.raises(SettingsError, match="REDLINE_GITLAB_CA_FILE"):
        check_access(Settings(gitlab_ca_file=file))


def test_i3_the_same_for_a_file_that_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("REDLINE_GITLAB_CA_FILE", str(tmp_path / "nope.pem"))
    with pytest.raises(SettingsError, match="no such file"):
        load_settings()


def test_i3_an_address_must_be_one(monkeypatch):
    monkeypatch.setenv("REDLINE_GITLAB_URL", "git.example/gitlab")
    with pytest.raises(SettingsError, match="REDLINE_GITLAB_URL"):
        load_settings()


def test_the_registry_opens_each_forge_once_and_only_with_a_token():
    forge_of = open_forges(Settings(gitlab_token="glpat-x", gitlab_url="http://127.0.0.1:1/git"))
    assert isinstance(forge_of("gitlab"), GitLabForge)
    assert forge_of("gitlab") is forge_of("gitlab")
    with pytest.raises(ForgeDenied, match="github"):
        forge_of("github")
    with pytest.raises(ForgeDenied, match="REDLINE_GITLAB_TOKEN"):
        open_forges(Settings(github_token="t"))("gitlab")
