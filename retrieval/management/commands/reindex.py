"""`manage.py reindex --profile NEW`: move namespaces to another index profile with no downtime."""

import json
import sys
import time
import uuid
from dataclasses import asdict
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from documents.errors import IngestError
from documents.ingestion.pipeline import ingest
from documents.jobs import heartbeat, queue
from documents.jobs.drain import run_until_done
from documents.management.commands.api_key import find_namespace
from documents.management.commands.profile import find_profile
from documents.models import IndexProfile, Namespace, Reindex
from documents.reindex import build, estimate, switching
from ragsite.database.tenancy import namespace, operator
from retrieval.inspection import parity


class Command(BaseCommand):
    help = (
        "Build an index profile next to the live one, and compare the two. Then: --switch, "
        "--rollback, --reclaim. Searches continue, under the old profile until the switch. The "
        "command can be interrupted: the next call continues, and so do running workers."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--profile", help="The new profile; see manage.py profile create.")
        where = parser.add_mutually_exclusive_group()
        where.add_argument("--namespace", default="default", help="Slug (default: default).")
        where.add_argument("--all", action="store_true", help="Every namespace.")
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--estimate", action="store_true", help="Only estimate the time and cost."
        )
        what.add_argument("--status", action="store_true", help="Only show the progress.")
        what.add_argument(
            "--rollback", action="store_true", help="Search under the old profile again."
        )
        what.add_argument(
            "--cancel", action="store_true", help="Abandon the new profile and delete its chunks."
        )
        what.add_argument(
            "--outdated",
            action="store_true",
            help="Index documents of older ingestion versions again, under the same profile.",
        )
        parser.add_argument(
            "--switch",
            action="store_true",
            help="Build if necessary, then search under the new profile.",
        )
        parser.add_argument(
            "--reclaim",
            action="store_true",
            help="Delete the old profile's chunks; there is no rollback afterwards.",
        )
        parser.add_argument(
            "--accept-failures",
            action="store_true",
            help="With --switch: switch even if some documents could not be indexed under the new "
            "profile.",
        )
        parser.add_argument(
            "--no-wait", action="store_true", help="Leave building to the workers, and return."
        )
        parser.add_argument(
            "--json", action="store_true", help="Print one JSON object per namespace."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        needs_profile = not any(
            options[name]
            for name in ("status", "rollback", "cancel", "outdated", "reclaim", "switch")
        )
        if needs_profile and not options["profile"]:
            raise CommandError("Name the new profile: --profile NAME.")
        tenants = self._tenants(options)
        near = None if options["all"] else tenants[0].pk
        profile = find_profile(options["profile"], near=near) if options["profile"] else None
        done = False
        for tenant in tenants:
            try:
                report = self._one(tenant, profile, options)
            except switching.NoSuchReindex as error:
                if options["all"]:
                    continue  # nothing to switch, roll back or reclaim here
                raise CommandError(str(error)) from None
            except IngestError as error:
                raise CommandError(f"{tenant.slug}: {error}") from None
            done = True
            self._print(tenant, report, as_json=options["json"])
        if not done:
            raise CommandError("There was nothing to do: no namespace has such a reindex.")

    def _tenants(self, options: dict[str, Any]) -> list[Namespace]:
        with operator():
            if options["all"]:
                return list(Namespace.objects.all())
            return [find_namespace(options["namespace"])]

    def _one(
        self, tenant: Namespace, profile: IndexProfile | None, options: dict[str, Any]
    ) -> dict[str, Any]:
        if options["estimate"] and profile is not None:
            return {"estimate": asdict(estimate.estimate(tenant.pk, profile))}
        if options["outdated"]:
            queued = switching.index_outdated(tenant.pk)
            if not options["no_wait"]:
                run_until_done(tenant.pk, queued)
            return {"queued": len(queued)}
        if options["rollback"]:
            switching.roll_back(tenant.pk)
        elif options["cancel"]:
            switching.cancel(tenant.pk)
            return {"removed": switching.sweep(tenant.pk), **status(tenant.pk)}
        elif not options["status"]:
            return self._build_and_more(tenant, profile, options)
        return status(tenant.pk)

    def _build_and_more(
        self, tenant: Namespace, profile: IndexProfile | None, options: dict[str, Any]
    ) -> dict[str, Any]:
        report: dict[str, Any] = {}
        if profile is not None and not _is_live(tenant.pk, profile):
            switching.start(tenant.pk, profile)
            if options["no_wait"] and not options["switch"]:
                return status(tenant.pk)
            self._build(tenant.pk)
            report["parity"] = parity.compare(_current(tenant.pk))
        if options["switch"]:
            self._build(tenant.pk)
            switching.switch(tenant.pk, accept_failures=options["accept_failures"])
        if options["reclaim"]:
            self._reclaim(tenant.pk)
            report["removed"] = switching.sweep(tenant.pk)
        return {**status(tenant.pk), **report}

    def _build(self, namespace_id: uuid.UUID) -> None:
        """Build until nothing is missing, alongside any running workers."""
        with namespace(namespace_id):
            reindex = switching.current(namespace_id)
            if reindex is None:
                raise switching.NoSuchReindex("No reindex has been started: name --profile.")
            total = switching.progress(reindex).documents
        with tqdm(total=total, desc="indexing", unit="doc", disable=not sys.stderr.isatty()) as bar:

            def is_done() -> bool:
                with namespace(namespace_id):
                    now = switching.current(namespace_id)
                    if now is None:
                        raise switching.NoSuchReindex("The reindex was cancelled.")
                    progress = switching.progress(now)
                bar.total, bar.n = progress.documents, progress.done
                bar.set_postfix_str(f"{now.stage}{_left(progress.seconds_left)}")
                if now.error_code:
                    bar.set_description_str(f"{now.error_code}: {now.error_message}")
                return now.state != Reindex.State.BUILDING and not now.has_work

            group = heartbeat.group()
            while not is_done():
                if job := queue.claim(group):
                    ingest(job)
                elif claimed := build.claim(group):
                    build.build(claimed, seconds=2)
                else:  # other workers are building, or the next try is due later
                    queue.requeue_stalled()
                    time.sleep(0.5)

    def _reclaim(self, namespace_id: uuid.UUID) -> None:
        while True:
            try:
                return switching.reclaim(namespace_id)
            except switching.TooEarly as error:
                self.stderr.write(str(error))
                time.sleep(5)

    def _print(self, tenant: Namespace, report: dict[str, Any], *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"namespace": tenant.slug, **report}, default=str))
            return
        for name, value in report.items():
            shown = (
                ", ".join(f"{k} {v}" for k, v in value.items() if k != "least_alike")
                if isinstance(value, dict)
                else value
            )
            self.stdout.write(f"{tenant.slug}: {name}: {shown}")


def status(namespace_id: uuid.UUID) -> dict[str, Any]:
    with namespace(namespace_id):
        tenant = Namespace.objects.select_related("active_profile").get(pk=namespace_id)
        report: dict[str, Any] = {"active_profile": tenant.active_profile.name}
        reindex = switching.current(namespace_id)
        if reindex is not None:
            report |= {"reindex": f"{reindex.replaces.name} → {reindex.profile.name}"}
            report |= {"state": reindex.state, "progress": asdict(switching.progress(reindex))}
            if reindex.failures:
                report["failures"] = reindex.failures
            if reindex.error_code:
                report["error"] = f"{reindex.error_code}: {reindex.error_message}"
    return report


def _current(namespace_id: uuid.UUID) -> Reindex:
    with namespace(namespace_id):
        reindex = switching.current(namespace_id)
    if reindex is None:
        raise switching.NoSuchReindex("The reindex was cancelled.")
    return reindex


def _is_live(namespace_id: uuid.UUID, profile: IndexProfile) -> bool:
    """Whether the namespace has switched, so that it can only roll back or reclaim."""
    with namespace(namespace_id):
        reindex = switching.current(namespace_id)
    return reindex is not None and reindex.state == "switched" and reindex.profile == profile


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f", {seconds:.0f} s left"
