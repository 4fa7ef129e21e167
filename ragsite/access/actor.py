"""Who is acting: set by each entry point (API, admin, command, worker), read by the audit log."""

import getpass
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse

from .client_address import client_address

USER, KEY, COMMAND, SYSTEM = "user", "key", "command", "system"


@dataclass(frozen=True, slots=True)
class Actor:
    """`label` is a user name, a key's prefix (never its secret), or OS user and command."""

    kind: str = SYSTEM
    label: str = ""
    address: str = ""


_actor: ContextVar[Actor | None] = ContextVar("actor", default=None)


def current_actor() -> Actor:
    return _actor.get() or Actor()


@contextmanager
def acting_as(actor: Actor) -> Iterator[None]:
    token = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(token)


def set_actor(kind: str, label: str) -> None:
    """Replace the actor once the caller is known; actor_middleware resets it after the request."""
    _actor.set(Actor(kind, label, current_actor().address))


def actor_middleware(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Start each request with an anonymous actor at its address, until it is authenticated."""

    def answer(request: HttpRequest) -> HttpResponse:
        with acting_as(Actor(address=client_address(request))):
            if request.path_info.startswith("/admin/") and request.user.is_authenticated:
                set_actor(USER, request.user.get_username())
            return get_response(request)

    return answer


def command_actor(argv: Sequence[str]) -> Actor:
    """The OS user and the command's name, without its arguments, which may hold secrets."""
    name = next((word for word in argv[1:] if not word.startswith("-")), "help")
    return Actor(COMMAND, f"{_os_user()}: manage.py {name}")


def _os_user() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's uid without a name
        user = f"uid {os.getuid()}"
    behind = os.environ.get("SUDO_USER")
    return f"{behind} as {user}" if behind and behind != user else user
