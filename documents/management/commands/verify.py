"""`manage.py verify`: audits every namespace, and repairs what can be repaired."""

import json
import sys
from typing import Any

from django.core.management import BaseCommand, CommandParser

from documents.intake import unowned
from documents.models import Namespace
from documents.verification.auditing import verify
from documents.verification.findings import Finding, Report
from ragsite.database.tenancy import operator
from ragsite.platform.wording import plural

from .api_key import find_namespace


class Command(BaseCommand):
    help = (
        "Check that every stored file, document, passage, vector, fact and count is as it should "
        "be. Exits with 0 if so and with 1 if anything was found that is not repaired."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--namespace",
            action="append",
            metavar="SLUG",
            help="Slug; may be repeated (default: all namespaces, and what belongs to none).",
        )
        parser.add_argument(
            "--fast",
            action="store_true",
            help="Compare only the sizes of originals instead of reading them for their checksums.",
        )
        parser.add_argument(
            "--repair",
            action="store_true",
            help="Repair what can be repaired: index again, delete orphans, count again. "
            "Never deletes a document.",
        )
        parser.add_argument(
            "--forget-restore",
            action="store_true",
            help="Treat files that a restored database does not know like all others: with "
            "--repair they are deleted.",
        )
        parser.add_argument("--json", action="store_true", help="Print the report as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["forget_restore"]:
            unowned.forget_restore()
        report = verify(
            self._chosen(options["namespace"]),
            fast=options["fast"],
            repair=options["repair"],
            progress=self._show_progress,
        )
        if options["json"]:
            self.stdout.write(json.dumps(report.as_json(), indent=2))
        else:
            self._print(report, repair=options["repair"])
        if not report.is_clean:
            sys.exit(1)

    def _chosen(self, slugs: list[str] | None) -> list[Namespace] | None:
        if not slugs:
            return None
        with operator():
            ids = {find_namespace(slug).pk for slug in slugs}
            return list(Namespace.objects.select_related("active_profile").filter(pk__in=ids))

    def _print(self, report: Report, *, repair: bool) -> None:
        for finding in report.repaired:
            self._print_finding("repaired", finding)
        for finding in report.findings:
            self._print_finding("found", finding)
        audited = f"{plural(report.namespaces, 'namespace')}, {plural(report.checks, 'check')}"
        if report.is_clean:
            self.stdout.write(f"{audited}: everything is as it should be.")
            return
        self.stdout.write(f"{audited}: {plural(len(report.findings), 'finding')}.")
        if not repair and any(finding.can_repair for finding in report.findings):
            self.stdout.write("Those marked with * can be repaired: run it again with --repair.")
        elif any(finding.repair for finding in report.findings):
            self.stdout.write(
                "What was queued is done by the workers: run verify again when they have finished."
            )

    def _print_finding(self, verdict: str, finding: Finding) -> None:
        mark = "*" if finding.can_repair and verdict == "found" else " "
        where = finding.namespace or "(server)"
        line = f"{verdict:<8}{mark} {where:<20} {finding.check:<15} {finding.count:>7,}  "
        done = f" ({finding.repair})" if finding.repair else ""
        self.stdout.write(f"{line}{finding.what}{done}")
        if finding.examples:
            self.stdout.write(f"          such as {', '.join(finding.examples[:3])}")

    def _show_progress(self, line: str) -> None:
        if self.stderr.isatty():
            self.stderr.write(line)
