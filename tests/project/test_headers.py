"""What answers tell browsers: a strict content policy, and HTTPS only where there is TLS."""

import os
import re
import subprocess
import sys
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.test import Client

from ..client import Api

PAGES = ("/", "/admin/login/", "/api/docs")
INLINE = re.compile(r"<(script|style)([^>]*)>")
# What the policy does not let through, in HTML that we write: attributes with code or styles.
FORBIDDEN = re.compile(r"<[^>]*\s(style|on[a-z]+)=", re.IGNORECASE)


def policy_of(answer: Any) -> dict[str, str]:
    parts = (
        part.strip().split(" ", 1) for part in answer.headers["Content-Security-Policy"].split(";")
    )
    return {part[0]: part[1] if len(part) > 1 else "" for part in parts}


def assert_strict(answer: Any) -> None:
    policy = policy_of(answer)
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in str(policy)
    nonce = re.search(r"'nonce-([^']+)'", policy["script-src"])
    assert nonce
    for kind, attributes in INLINE.findall(answer.text):
        assert f'nonce="{nonce[1]}"' in attributes or (kind == "script" and "src=" in attributes)
    assert not FORBIDDEN.search(answer.text)


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("path", PAGES)
def test_pages_have_a_strict_content_policy_and_keep_to_it(path: str):
    first, second = Client().get(path), Client().get(path)
    assert first.status_code == 200
    assert_strict(first)
    assert policy_of(first) != policy_of(second)  # a nonce is used once


def test_the_admins_pages_keep_to_the_policy(boss: Client, api: Api):
    api.upload(("a.md", "# A\n\nText."))
    for page in (
        "",
        "documents/document/",
        "documents/ingestjob/",
        "documents/apikey/add/",
        "evaluation/goldenset/add/",
        "retrieval/querylog/",
        "documents/auditevent/",
    ):
        answer = boss.get(f"/admin/{page}")
        assert answer.status_code == 200, page
        assert_strict(answer)


def test_what_is_no_page_may_load_and_run_nothing(api: Api, db: None):
    policy = policy_of(api.get("documents"))
    assert policy["default-src"] == "'none'"
    assert "sandbox" in policy
    assert "script-src" not in policy


@pytest.fixture
def behind_tls(settings: Any) -> Client:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_HSTS_SECONDS = 31536000
    return Client()


@pytest.mark.usefixtures("db")
def test_behind_tls_http_is_redirected_but_for_health(behind_tls: Client):
    moved = behind_tls.get("/admin/login/")
    assert (moved.status_code, moved.url) == (301, "https://testserver/admin/login/")
    assert behind_tls.get("/livez").status_code == 200
    assert behind_tls.get("/readyz").status_code in (200, 503)
    over_tls = behind_tls.get("/admin/login/", headers={"X-Forwarded-Proto": "https"})
    assert over_tls.status_code == 200
    assert over_tls.headers["Strict-Transport-Security"] == "max-age=31536000"


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *code.split(" ")],
        cwd=django_settings.BASE_DIR,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.usefixtures("database")
def test_the_deploy_check_is_content_behind_tls_and_helpful_without():
    content = run("manage.py check --deploy --fail-level WARNING", BEHIND_TLS="true")
    # Which layers of the readers' sandbox there are is this machine's business (ragsite.?030), and
    # PRODUCTION (ragsite.W060) asks for more than TLS.
    anywhere = {"(ragsite.I030)", "(ragsite.W030)", "(ragsite.W060)"}
    assert set(re.findall(r"\(\w+\.[A-Z]\d+\)", content)) <= anywhere
    assert "System check identified" in content
    without = run("manage.py check --deploy", BEHIND_TLS="false")
    assert "ragsite.W001" in without
    assert "BEHIND_TLS=true" in without
    assert "security.W" not in without


def test_behind_tls_settings_follow_and_can_be_set_one_by_one():
    from environ import Env

    from ragsite.settings.security import Tls

    class Given(Env):
        ENVIRON: Any = {}

    behind = Tls(Given(), behind=True)
    assert (behind.hsts_seconds, behind.redirect) == (31536000, True)
    Given.ENVIRON = {"HSTS_SECONDS": "60", "TLS_REDIRECT": "false", "HSTS_INCLUDE_SUBDOMAINS": "1"}
    chosen = Tls(Given(), behind=True)
    assert (chosen.hsts_seconds, chosen.redirect, chosen.hsts_subdomains) == (60, False, True)
    without = Tls(Given(), behind=False)
    assert (without.hsts_seconds, without.redirect, without.hsts_subdomains) == (0, False, False)
