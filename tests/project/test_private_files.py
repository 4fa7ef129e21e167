"""Whom the service lets read what it writes, and what it prints to whom."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragsite.management.commands.up import _secrets
from ragsite.platform.private_files import keep_private, make_folder
from ragsite.service.bootstrap import Credentials


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.usefixtures("umask")
def test_what_an_earlier_release_left_open_is_closed_and_the_rest_left_alone(tmp_path: Path):
    for name in ("storage", "tmp", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "credentials.json").write_text("{}")
    keep_private(tmp_path)
    assert [mode(tmp_path / name) for name in ("storage", "tmp")] == [0o700, 0o700]
    assert mode(tmp_path / "credentials.json") == 0o600
    assert mode(tmp_path / "elsewhere") == 0o755
    (tmp_path / "new").touch()
    assert mode(tmp_path / "new") == 0o600


@pytest.mark.usefixtures("umask")
def test_a_folder_has_the_mode_it_was_made_with_under_any_umask(tmp_path: Path):
    os.umask(0o077)
    make_folder(tmp_path / "a" / "b", mode=0o711)
    assert mode(tmp_path / "a" / "b") == 0o711
    make_folder(tmp_path / "a" / "b", mode=0o700)  # it is there
    assert mode(tmp_path / "a" / "b") == 0o711


def test_secrets_are_shown_to_a_person_at_a_terminal_only():
    credentials = Credentials(password="pass-word", api_key="rs_key")
    at_terminal = _secrets(credentials, to_a_person=True)
    assert at_terminal["login"] == "operator / pass-word"
    assert at_terminal["key"] == at_terminal["bearer"] == "rs_key"
    elsewhere = " ".join(_secrets(credentials, to_a_person=False).values())
    assert "credentials.json" in elsewhere
    assert "pass-word" not in elsewhere
    assert "rs_key" not in elsewhere


def test_credentials_that_others_could_read_are_closed_when_written_again(settings, tmp_path: Path):
    settings.HOME = tmp_path
    path = tmp_path / "credentials.json"
    path.write_text("{}")
    path.chmod(0o644)
    Credentials(password="x").save()
    assert mode(path) == 0o600
