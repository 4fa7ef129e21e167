"""`manage.py capacity`: the hardware needed for a number of documents and questions."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from evaluation.capacity import coefficients
from evaluation.capacity.plan import Machine, Plan, Wish, plan
from evaluation.reports.tables import table

USUAL, USUAL_MACHINE = Wish(documents=0, qps=0), Machine()


class Command(BaseCommand):
    help = (
        "Machines, memory, shards and cost for a number of documents and questions per second, "
        "computed from what `make bench-scale` measured (docs/scale.md). Give your "
        "own prices; the defaults are only round figures."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--documents", type=int, required=True)
        parser.add_argument("--qps", type=float, required=True, help="Questions per second.")
        for name, usual, text in (
            ("chunks-per-document", USUAL.chunks_per_document, "Mean number of chunks."),
            ("original-kb", USUAL.original_kb, "Size of an original file."),
            (
                "storage-price",
                USUAL.storage_price,
                "Price of a gigabyte of object storage per month.",
            ),
            ("days-to-load", USUAL.days_to_load, "Days in which everything has to be indexed."),
            ("memory-gb", USUAL_MACHINE.memory_gb, "Memory of a machine."),
            ("disk-gb", USUAL_MACHINE.disk_gb, "Disk of a machine."),
            ("price", USUAL_MACHINE.price, "Price of a machine per month."),
        ):
            parser.add_argument(
                f"--{name}", type=float, default=usual, help=f"{text} Default: {usual:g}."
            )
        parser.add_argument("--cores", type=int, default=USUAL_MACHINE.cores)
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        of_machine = ("cores", "memory_gb", "disk_gb", "price")
        of_wish = (
            *("documents", "qps", "chunks_per_document"),
            *("original_kb", "storage_price", "days_to_load"),
        )
        named = {name: options[name] for name in (*of_machine, *of_wish)}
        if wrong := [name for name, value in named.items() if value <= 0]:
            raise CommandError(f"--{wrong[0].replace('_', '-')}: more than 0.")
        machine = Machine(**{name: named[name] for name in of_machine})
        wish = Wish(**{name: named[name] for name in of_wish}, machine=machine)
        measured = coefficients.read()
        made = plan(wish, measured)
        if options["json"]:
            shown = {**asdict(made), "price": made.price, "chunks": wish.chunks}
            self.stdout.write(json.dumps(shown))
            return
        self.stdout.write(table(("", ""), rows(made)))
        for note in (*made.notes, *measured.notes):
            self.stdout.write(f"- {note}")


def rows(made: Plan) -> list[tuple[str, str]]:
    wish = made.wish
    return [
        ("chunks", f"{wish.chunks:,}"),
        ("candidates found by", f"{made.engine}, index {made.method}"),
        ("shards × copies", f"{made.shards} × {made.replicas} ({made.limited_by})"),
        ("memory for indexes", f"{made.memory_gb:,.0f} GB a copy"),
        ("disk", f"{made.disk_gb:,.0f} GB a copy"),
        ("originals", f"{made.originals_gb:,.0f} GB of objects"),
        ("database machines", f"{made.database_machines}"),
        ("web machines", f"{made.web_machines} ({_cores(made.web_cores)})"),
        ("CPU of a question", f"{made.question_ms:,.1f} ms on all shards"),
        ("loading", f"{_cores(made.loading_cores)} for {wish.days_to_load:g} days"),
        ("money", f"{made.price:,.0f} a month"),
    ]


def _cores(number: int) -> str:
    return f"{number:,} core" if number == 1 else f"{number:,} cores"
