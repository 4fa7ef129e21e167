"""`manage.py sync_store`: bring search stores up to date in this process."""

import json
import sys
import time
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from documents.errors import IngestError
from documents.models import Chunk, IndexProfile, Namespace
from documents.stores import auditing, feeding, outbox, registry
from ragsite.database.tenancy import operator
from ragsite.platform.wording import plural

from .profile import find_profile

WAIT_SECONDS = 1.0


class Command(BaseCommand):
    help = (
        "Write pending changes to the search stores outside of the database. Workers do this "
        "all the time; run this command to wait for it, to see its progress, or to rebuild a "
        "store. It can be interrupted and run again. Exits with 1 if a store fails."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--profile", help="Only the store of this index profile.")
        parser.add_argument("--namespace", help="Only this namespace's chunks.")
        parser.add_argument(
            "--status",
            action="store_true",
            help="Only print what is waiting, and the state of each store.",
        )
        parser.add_argument(
            "--rebuild",
            action="store_true",
            help="Remove these chunks from the store and write them again, for example after the "
            "store has lost data. Searches use the database in the meantime.",
        )
        parser.add_argument(
            "--separate",
            action="store_true",
            help="Give the namespace shards of its own, in a Qdrant cluster, and write its chunks "
            "there. For large tenants; needs --namespace and --profile.",
        )
        parser.add_argument("--json", action="store_true", help="Print the status as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = self._profiles(options["profile"])
        tenants = _tenants(options["namespace"])
        if options["separate"] and not (options["namespace"] and options["profile"] and chosen):
            raise CommandError("--separate needs --namespace, and a --profile with a store.")
        if not options["status"]:
            try:
                if options["separate"]:
                    feeding.separate(tenants[0].pk, chosen[0])
                elif options["rebuild"]:
                    self._rebuild(chosen, tenants)
                self._catch_up(chosen, tenants)
            except IngestError as error:
                raise CommandError(f"{error} What is left is synced later.") from None
        found = [_status(profile, tenants) for profile in chosen]
        if options["json"]:
            self.stdout.write(json.dumps(found, indent=2))
        else:
            self._print(found)
        if any(one["problem"] for one in found):
            sys.exit(1)

    def _profiles(self, name: str | None) -> list[IndexProfile]:
        if name:
            chosen = [find_profile(name)]
        else:
            with operator():
                chosen = list(IndexProfile.objects.all())
        return [profile for profile in chosen if profile.is_stored_outside]

    def _rebuild(self, chosen: list[IndexProfile], tenants: list[Namespace]) -> None:
        for profile in chosen:
            if feeding.take_over(profile):
                continue
            for tenant in tenants:
                with operator():
                    chunks = Chunk.objects.filter(namespace=tenant, profile=profile)
                    has_any = chunks.exists()
                if has_any:
                    feeding.rebuild(tenant.pk, profile)

    def _catch_up(self, chosen: list[IndexProfile], tenants: list[Namespace]) -> None:
        for profile in chosen:
            outbox.retry_now(profile)
            # Includes deleted namespaces, whose chunks have to be removed.
            wanted = {tenant.pk for tenant in tenants} | set(outbox.waiting_namespaces(profile))
            for namespace_id in wanted:
                while not feeding.catch_up(
                    namespace_id, profile, progress=self._show_progress
                ):  # a worker is syncing the rest
                    time.sleep(WAIT_SECONDS)
                    outbox.retry_now(profile)

    def _show_progress(self, synced: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"{plural(synced, 'document')} synced", ending="\r")

    def _print(self, found: list[dict[str, Any]]) -> None:
        if not found:
            self.stdout.write("No index profile uses a store outside of the database.")
        for one in found:
            lag = f", the oldest for {one['lag_seconds']:.0f} s" if one["waiting"] else ""
            problem = "".join(f"  {one[key]}" for key in ("problem", "advice") if one[key])
            self.stdout.write(
                f"{one['profile']}\t{one['store']} {one['version']}\t"
                f"{one['held']:,} of {plural(one['chunks'], 'chunk')}\t"
                f"{plural(one['waiting'], 'document')} waiting{lag}{problem}"
            )


def _tenants(slug: str | None) -> list[Namespace]:
    with operator():
        if slug is None:
            return list(Namespace.objects.filter(deleting_since=None))
        found = Namespace.objects.filter(slug=slug).first()
    if found is None:
        raise CommandError(f"There is no namespace {slug!r}.")
    return [found]


def _status(profile: IndexProfile, tenants: list[Namespace]) -> dict[str, Any]:
    backlog = next((b for b in outbox.backlogs() if b.profile_id == profile.pk), None)
    version, problem, advice, held = "", "", "", 0
    try:
        health = registry.store_of(profile).health()
        version, problem, advice = health.version, health.problem, health.advice
        if health.is_up:
            held = sum(auditing.held_of(tenant.pk, profile) for tenant in tenants)
    except IngestError as error:
        problem = str(error)
    return {
        "profile": profile.name,
        "store": profile.store,
        "version": version,
        "chunks": auditing.rows_of([tenant.pk for tenant in tenants], profile),
        "held": held,
        "waiting": backlog.documents if backlog else 0,
        "lag_seconds": (timezone.now() - backlog.since).total_seconds() if backlog else 0.0,
        "attempts": backlog.attempts if backlog else 0,
        "last_error": backlog.error if backlog else "",
        "problem": problem,
        "advice": advice,
    }
