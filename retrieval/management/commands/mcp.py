"""`manage.py mcp`: the MCP server over standard input and output."""

import os
import uuid
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from documents.management.commands.api_key import find_namespace
from ragsite.access.actor import KEY, Actor, current_actor
from ragsite.access.auth import Caller, find_caller
from ragsite.database.tenancy import operator
from ragsite.platform.errors import ApiError

VARIABLE = "RAGSITE_API_KEY"
SCOPES = ("read", "write")


class Command(BaseCommand):
    help = (
        "Serve a namespace to one MCP client over standard input and output. What it may do is "
        f"decided by the API key in the environment variable {VARIABLE}, or by --namespace and "
        "--scopes. Logs go to standard error."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--namespace", help=f"Slug, in place of {VARIABLE}.")
        parser.add_argument(
            "--scopes",
            help="With --namespace: read, or read,write to allow changes (default: read).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        key = os.environ.pop(VARIABLE, "")  # not for child processes
        caller_of = _by_key(key, options) if key else _by_name(options)
        try:
            caller_of()
        except ApiError as error:
            raise CommandError(f"{VARIABLE}: {error.detail}") from None
        from retrieval.mcp.stdio import serve  # the SDK takes a while to load

        serve(caller_of)


def _by_key(key: str, options: dict[str, Any]) -> Any:
    if options["namespace"] or options["scopes"]:
        raise CommandError(
            f"The key in {VARIABLE} decides the namespace and the scopes: leave out --namespace "
            "and --scopes, or unset the variable."
        )

    def caller_of() -> tuple[Caller, Actor]:
        caller = find_caller(f"Bearer {key}", address="")
        return caller, Actor(KEY, caller.prefix)

    return caller_of


def _by_name(options: dict[str, Any]) -> Any:
    if not options["namespace"]:
        raise CommandError(f"Name the namespace (--namespace SLUG), or set {VARIABLE}.")
    scopes = frozenset(s.strip() for s in (options["scopes"] or "read").split(",") if s.strip())
    if not scopes or scopes - set(SCOPES):
        raise CommandError(f"--scopes: give {' or '.join(SCOPES)}, or both with a comma.")
    with operator():
        namespace_id = find_namespace(options["namespace"]).pk
    # No key of the database: the usual limits, counted for this process alone.
    caller, actor = Caller(uuid.uuid4(), namespace_id, scopes), current_actor()
    return lambda: (caller, actor)
