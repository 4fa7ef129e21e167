"""Guessing the admin's password: locked out after a few tries, and never for good."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client

from documents.accounts import login_throttle
from documents.models import AuditEvent, LoginThrottle
from ragsite.database.tenancy import operator

pytestmark = pytest.mark.usefixtures("boss_account")

LOCKED = "Too many failed attempts"


@pytest.fixture
def boss_account(db: None) -> None:
    with operator():
        User.objects.create_superuser("boss", password="long enough")


def sign_in(name: str = "boss", password: str = "long enough", *, address: str = "10.0.0.1") -> Any:
    form = {"username": name, "password": password, "next": "/admin/"}
    return Client(REMOTE_ADDR=address).post("/admin/login/", form)


def got_in(answer: Any) -> bool:
    return bool(answer.status_code == 302)


def pass_time(seconds: int) -> None:
    with connections["owner"].cursor() as cursor:
        cursor.execute(
            "UPDATE documents_loginthrottle SET "
            "locked_until = locked_until - make_interval(secs => %(s)s), "
            "last_attempt_at = last_attempt_at - make_interval(secs => %(s)s)",
            {"s": seconds},
        )


def actions() -> list[str]:
    with operator():
        found = AuditEvent.objects.filter(action__startswith="log").order_by("created_at")
        return list(found.values_list("action", flat=True))


def test_after_thirty_wrong_passwords_the_right_one_does_not_work():
    answers = [sign_in(password=f"wrong {n}") for n in range(30)]
    assert not any(got_in(answer) for answer in answers)
    assert LOCKED not in answers[4].text
    assert all(LOCKED in answer.text for answer in answers[5:])
    refused = sign_in()
    assert not got_in(refused)
    assert LOCKED in refused.text


def test_a_lock_ends_by_itself_and_the_next_lasts_longer():
    for _ in range(6):
        sign_in(password="wrong")
    pass_time(61)
    assert got_in(sign_in())
    for lock_seconds in (60, 120, 240):
        for _ in range(6):
            sign_in(password="wrong", address="10.0.0.2")
        pass_time(lock_seconds - 10)
        assert LOCKED in sign_in(address="10.0.0.2").text
        pass_time(11)
    assert got_in(sign_in(address="10.0.0.2"))


def test_the_longest_lock_is_bounded(settings: Any):
    settings.LOGIN_THROTTLE = {**settings.LOGIN_THROTTLE, "lock_max_seconds": 100}
    for _ in range(4):
        for _ in range(6):
            sign_in(password="wrong")
        pass_time(101)
    assert got_in(sign_in())


def test_success_forgets_the_failures_before_it():
    for _ in range(4):
        for _ in range(4):
            sign_in(password="wrong")
        assert got_in(sign_in())


def test_it_does_not_tell_which_users_there_are():
    known = [sign_in("boss", "wrong").text for _ in range(7)]
    unknown = [sign_in("nobody", "wrong", address="10.0.0.9").text for _ in range(7)]
    assert [LOCKED in page for page in known] == [LOCKED in page for page in unknown]
    assert LOCKED in unknown[-1]
    assert "boss" not in LOCKED


def test_strangers_cannot_lock_the_operator_out_of_an_address_they_use(settings: Any):
    settings.LOGIN_THROTTLE = {**settings.LOGIN_THROTTLE, "failures_per_user": 10}
    assert got_in(sign_in())
    for n in range(12):
        sign_in(password="wrong", address=f"10.9.{n}.1")
    assert LOCKED in sign_in(address="10.8.0.1").text  # the user's own limit: elsewhere
    assert got_in(sign_in())  # where the operator has signed in before: nothing of it


def test_one_address_cannot_try_many_users(settings: Any):
    settings.LOGIN_THROTTLE = {**settings.LOGIN_THROTTLE, "failures_per_address": 10}
    answers = [sign_in(f"user{n}", "wrong") for n in range(12)]
    assert LOCKED not in answers[9].text
    assert LOCKED in answers[10].text
    assert not got_in(sign_in())
    assert got_in(sign_in(address="10.0.0.2"))


def test_guesses_at_the_same_time_are_counted_one_by_one():
    attempt = login_throttle.Attempt("boss", "10.0.0.1")

    def take(_: int) -> bool:
        try:
            return login_throttle.take_slot(attempt)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(40))) == 5


def test_names_are_counted_alike_however_they_are_written():
    for name in ("boss", "BOSS", " boss ", "Boss", "bOSS"):
        sign_in(name, "wrong")
    assert LOCKED in sign_in("boss").text


def test_an_odd_name_is_refused_and_breaks_nothing():
    for name in ("a\x00b", "\ud800", "x" * 10_000, "' OR 1=1", "@", "%"):
        assert not got_in(sign_in(name.encode("utf-8", "replace").decode(), "wrong"))


def test_every_attempt_leaves_a_trace_with_its_address():
    sign_in(password="wrong")
    client = Client(REMOTE_ADDR="10.0.0.1")
    client.post("/admin/login/", {"username": "boss", "password": "long enough"})
    client.post("/admin/logout/")
    assert actions() == ["login.fail", "login", "logout"]
    with operator():
        failed, succeeded, _ = AuditEvent.objects.filter(action__startswith="log").order_by(
            "created_at"
        )
    assert (failed.actor_kind, failed.target_label, failed.address) == (
        "system",
        "boss",
        "10.0.0.1",
    )
    assert (succeeded.actor_kind, succeeded.actor) == ("user", "boss")
    for _ in range(20):
        sign_in(password="wrong", address="10.0.0.7")
    # Five failures and the lock; what knocks at a locked door does not fill the log.
    assert actions()[3:] == ["login.fail"] * 5 + ["login.lock"]


def test_unlocking_by_command(capsys: Any):
    def lock() -> None:
        for _ in range(6):
            sign_in(password="wrong")
        assert not got_in(sign_in())

    for arguments in (["boss"], ["--address", "10.0.0.1"], ["--all"]):
        lock()
        call_command("unlock_login", *arguments)
        assert "1 lock removed" in capsys.readouterr().out
        assert got_in(sign_in())
        with operator():
            LoginThrottle.objects.all().delete()
    lock()
    call_command("unlock_login", "somebody")
    assert not got_in(sign_in())
    for wrong in ([], ["boss", "--all"]):
        with pytest.raises(CommandError):
            call_command("unlock_login", *wrong)
    assert actions().count("login.unlock") == 4


def test_old_failures_are_forgotten_and_known_addresses_are_not():
    sign_in(password="wrong", address="10.0.0.3")
    assert got_in(sign_in())
    pass_time(2 * 86400)
    login_throttle.delete_stale()
    with operator():
        assert [row.key for row in LoginThrottle.objects.all()] == ["pair:boss@10.0.0.1"]


def test_the_admins_page_looks_like_that_of_people(db: None):
    shown = Client().get("/admin/login/").text
    assert "<h1>Sign in</h1>" in shown
    assert 'value="Sign in"' in shown
    assert "Log in" not in shown
    assert "pages/pages" in shown
    empty = Client().post("/admin/login/", {"username": "", "password": ""}).text
    assert "Enter a name and a password." in empty


def test_a_user_without_the_staff_flag_is_refused_and_traced():
    with operator():
        User.objects.create_user("plain", password="long enough")
    assert not got_in(sign_in("plain"))
    assert actions() == ["login.fail"]
