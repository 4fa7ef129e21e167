"""`manage.py namespace create SLUG`, `… rename`, `… quotas`, `… answers`, `… link`, `… delete`,
`… list`."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, CommandError, CommandParser

from documents.accounts import answer_settings, keys, namespace_removal, quotas
from documents.management import namespace_links
from documents.models import Namespace, NamespaceRemoval
from documents.profiles import vector_indexes
from ragsite.database.tenancy import operator
from ragsite.platform.wording import plural

from .api_key import find_namespace
from .profile import find_profile

CREATED_WITH = ("slug", "name", "profile", "language", "exist_ok")


class Command(BaseCommand):
    help = "Create, rename, limit, delete or list namespaces, which separate tenants."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="Create an empty namespace.")
        create.add_argument("slug", help="Lowercase letters, digits and hyphens, e.g. acme-legal.")
        create.add_argument("--name", default="", help="Display name.")
        create.add_argument(
            "--profile", default="default", help="Index profile (default: the installation's)."
        )
        create.add_argument(
            "--language",
            default="",
            help="What its documents are written in, e.g. de (default: detected for each).",
        )
        create.add_argument(
            "--exist-ok", action="store_true", help="Succeed quietly if it exists already."
        )
        quota = actions.add_parser(
            "quotas", help="Show a namespace's usage and quotas, or change the quotas."
        )
        quota.add_argument("slug")
        for name in quotas.NAMES:
            quota.add_argument(
                f"--{name}",
                metavar="N",
                help="A number; 0 for no quota; default for the installation's quota.",
            )
        answers = actions.add_parser(
            "answers", help="Show or change a namespace's answer settings."
        )
        answers.add_argument("slug")
        answers.add_argument("--model", help="Alias of a language model; blank: the default.")
        answers.add_argument(
            "--prompt", help="Instructions that are added to the rules of every answer."
        )
        answers.add_argument(
            "--language", help="Language of answers, e.g. de; blank: that of the question."
        )
        answers.add_argument(
            "--min-relevance",
            metavar="0..1",
            help="How relevant the best passage must be for an answer; blank: the default.",
        )
        namespace_links.add_arguments(actions)
        rename = actions.add_parser(
            "rename", help="Change a namespace's slug; keys and ids stay the same."
        )
        rename.add_argument("slug")
        rename.add_argument("to", help="The new slug.")
        rename.add_argument("--name", help="Also change the display name.")
        delete = actions.add_parser(
            "delete", help="Delete a namespace and everything in it, permanently."
        )
        delete.add_argument("slug")
        delete.add_argument("--yes", action="store_true", help="Do not ask for confirmation.")
        delete.add_argument(
            "--background",
            action="store_true",
            help="Leave the deletion to a worker, and return at once.",
        )
        delete.add_argument("--json", action="store_true", help="Print the receipt as JSON.")
        actions.add_parser("list", help="Print every namespace with its number of documents.")

    def handle(self, *args: Any, **options: Any) -> None:
        with operator():
            if options["action"] == "list":
                self._list()
            elif options["action"] == "quotas":
                self._quotas(options["slug"], {name: options[name] for name in quotas.NAMES})
            elif options["action"] == "answers":
                self._answers(find_namespace(options["slug"]), options)
            elif options["action"] == "link":
                self._link(options)
            elif options["action"] == "rename":
                self._rename(find_namespace(options["slug"]), options["to"], options["name"])
            elif options["action"] == "delete":
                self._delete(find_namespace(options["slug"]), options)
            else:
                self._create(**{name: options[name] for name in CREATED_WITH})

    def _create(self, slug: str, name: str, profile: str, language: str, *, exist_ok: bool) -> None:
        if exist_ok and Namespace.objects.filter(slug=slug).exists():
            return
        found = find_profile(profile)
        try:
            keys.create_namespace(slug, name=name, profile=found, language=language)
            vector_indexes.ensure(found)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        self.stdout.write(f"Namespace {slug} created.")

    def _quotas(self, slug: str, changes: dict[str, str | None]) -> None:
        found = find_namespace(slug)
        try:
            wanted = {
                name: None if value == "default" else int(value)
                for name, value in changes.items()
                if value is not None
            }
            if wanted:
                quotas.set_quotas(found, wanted)
        except ValueError:
            raise CommandError("A quota is a whole number, or: default.") from None
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        for name, usage in quotas.usage_of(found.pk).items():
            of = f"of {usage.quota:,}" if usage.quota else "no quota"
            self.stdout.write(f"{name}\t{usage.used:,}\t{of}")

    def _answers(self, found: Namespace, options: dict[str, Any]) -> None:
        changes = {
            name: options[name] for name in answer_settings.NAMES if options[name] is not None
        }
        if "min_relevance" in changes:
            changes["min_relevance"] = _number_or_none(changes["min_relevance"])
        try:
            answer_settings.change(found, changes)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        for name, value in answer_settings.current(found).items():
            self.stdout.write(f"{name}\t{'(default)' if value in ('', None) else value}")

    def _rename(self, found: Namespace, slug: str, name: str | None) -> None:
        before = found.slug
        try:
            keys.rename_namespace(found, slug=slug, name=name)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        self.stdout.write(f"Namespace {before} is now {found.slug}.")

    def _link(self, options: dict[str, Any]) -> None:
        if options["verb"] == "create":
            namespace_links.create(find_namespace(options["slug"]), options, self.stdout.write)
        elif options["verb"] == "list":
            namespace_links.show(find_namespace(options["slug"]), self.stdout.write)
        else:
            namespace_links.revoke(options["prefix"], self.stdout.write)

    def _delete(self, found: Namespace, options: dict[str, Any]) -> None:
        if not options["yes"]:
            self._confirm(found)
        removal = namespace_removal.request_removal(found)
        if options["background"]:
            namespace_removal.queue_removal(removal.pk)
        else:
            removal = namespace_removal.run_removal(removal.pk, progress=self._show_progress)
        if options["json"]:
            self.stdout.write(json.dumps(_receipt(removal), indent=2))
            return
        if removal.state != NamespaceRemoval.State.FINISHED:
            self.stdout.write(
                f"Namespace {found.slug} is closed and being deleted (removal {removal.pk})."
            )
            return
        self.stdout.write(f"Namespace {found.slug} deleted:")
        for kind, count in sorted(removal.rows.items()):
            words = namespace_removal.in_words(kind, count)
            self.stdout.write(f"  {count:>9,}  {words}")
        files = "stored file" if removal.files == 1 else "stored files"
        self.stdout.write(f"  {removal.files:>9,}  {files}")
        for key in removal.files_left:
            self.stderr.write(self.style.WARNING(f"Could not be removed from the storage: {key}"))

    def _confirm(self, found: Namespace) -> None:
        documents = found.documents.count()
        self.stdout.write(
            f"This deletes the namespace {found.slug} with {plural(documents, 'document')}, "
            f"{plural(found.chunk_count, 'chunk')}, its keys, facts, golden sets and query log. "
            "It cannot be undone."
        )
        try:
            typed = input(f"Type {found.slug} to continue: ")
        except EOFError:
            raise CommandError(
                "Nothing was deleted. Without a terminal, confirm with --yes."
            ) from None
        if typed.strip() != found.slug:
            raise CommandError("Nothing was deleted.")

    def _show_progress(self, removal: NamespaceRemoval) -> None:
        if self.stderr.isatty():
            rows = sum(removal.rows.values())
            self.stderr.write(
                f"\r{plural(rows, 'row')}, {plural(removal.files, 'file')}", ending=""
            )

    def _list(self) -> None:
        for namespace in Namespace.objects.all():
            documents = plural(namespace.documents.count(), "document")
            state = "\tbeing deleted" if namespace.deleting_since else ""
            self.stdout.write(f"{namespace.slug}\t{documents}\t{namespace.name}{state}")


def _number_or_none(text: str) -> float | None:
    try:
        return float(text) if text.strip() else None
    except ValueError:
        raise CommandError("--min-relevance is a number from 0 to 1.") from None


def _receipt(removal: NamespaceRemoval) -> dict[str, Any]:
    return {
        "id": str(removal.pk),
        "namespace_id": str(removal.removed_namespace),
        "slug": removal.slug,
        "state": removal.state,
        "rows": removal.rows,
        "files": removal.files,
        "files_left": removal.files_left,
    }
