"""`manage.py explain_query "question"`: show the query plans of both legs, and their cost."""

import uuid
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser

from documents.management.commands.api_key import find_namespace
from documents.models import Namespace
from documents.profiles.profiles import embedder_of
from documents.text.lexemes import parse_query
from ragsite.database.tenancy import namespace, operator
from retrieval.api.filters import FiltersSerializer, filters_of
from retrieval.candidates import bm25, dense, explain, lexical
from retrieval.candidates.scope import SearchScope, resolve
from retrieval.management.commands.search import add_filter_arguments, filters_from
from retrieval.search import prepare
from retrieval.search_context import read_index


class Command(BaseCommand):
    help = "Run both legs of a query and show PostgreSQL's plans for them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question")
        parser.add_argument("--namespace", default="default", help="Slug (default: default).")
        add_filter_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        with operator():
            namespace_id: uuid.UUID = find_namespace(options["namespace"]).pk
        form = FiltersSerializer(data=filters_from(options))
        if not form.is_valid():
            raise CommandError(str(form.errors))
        limit = settings.SEARCH["candidates"]
        with namespace(namespace_id):
            tenant = Namespace.objects.select_related("active_profile").get(pk=namespace_id)
            scope = resolve(
                filters_of(form.validated_data),
                read_index(namespace_id),
                few=settings.SEARCH["exact_scan_rows"],
            )
        self._scope(tenant, scope)
        self._dense(tenant, options["question"], scope, limit)
        self._lexical(tenant, options["question"], scope, limit)

    def _scope(self, tenant: Namespace, scope: SearchScope) -> None:
        self._heading("SearchScope")
        if scope.documents is not None:
            left = "what passes the filter, by its documents' ids"
        else:
            left = "what passes the filter" if scope.share < 1 else "the whole namespace"
        self.stdout.write(f"{left}: about {scope.chunks} of {tenant.chunk_count} chunks")

    def _dense(self, tenant: Namespace, question: str, scope: SearchScope, limit: int) -> None:
        vector = embedder_of(tenant.active_profile).embed_query(parse_query(prepare(question)).text)
        query = dense.prepared(
            vector,
            namespace_id=tenant.pk,
            profile=tenant.active_profile,
            scope=scope,
            limit=limit,
            exact_up_to=settings.SEARCH["exact_scan_rows"],
        )
        self._heading(f"Dense leg: {query.plan}")
        with namespace(tenant.pk):
            ef_search = max(settings.SEARCH["ef_search"], limit, query.width)
            dense.allow_iterative_scan(tenant.active_profile, ef_search, scope)
            self.stdout.write(explain.explain(query.statement, query.parameters, analyse=True))

    def _lexical(self, tenant: Namespace, question: str, scope: SearchScope, limit: int) -> None:
        profile_id = tenant.active_profile.pk
        with namespace(tenant.pk):
            asked = lexical.analyse(
                parse_query(prepare(question)), namespace_id=tenant.pk, profile_id=profile_id
            )
        if asked is None or not asked.terms:
            self._heading(
                "Lexical leg: " + ("words not counted yet" if asked is None else "no words")
            )
            return
        self._heading("Words")
        for term in asked.terms:
            self.stdout.write(f"  {term.label}: weight {term.weight:.2f}, in {term.chunks} chunks")
        for note in asked.notes:
            self.stdout.write(f"  {note}")
        budget = settings.SEARCH["lexical_budget"]
        if lexical.scans_each_chunk(scope, budget):
            self._heading("Lexical leg: every chunk that passes")
            query = lexical.scan_each_chunk(asked, profile_id=profile_id, scope=scope, limit=limit)
            with namespace(tenant.pk):
                self.stdout.write(explain.explain(*query, analyse=True))
            return
        budget = lexical.wider(budget, scope)
        step = bm25.choose_share(asked.terms, total=asked.chunks, budget=budget)
        share = bm25.SHARES[step]
        self._heading(f"Lexical leg: chunks with at least {share:.0%} of the words' weight")
        wanted = lexical.restricted(asked, bm25.candidates_query(asked.terms, share=share))
        self.stdout.write(
            explain.explain_candidates(
                asked,
                wanted,
                namespace_id=tenant.pk,
                profile_id=profile_id,
                scope=scope,
                limit=limit,
                analyse=True,
            )
        )

    def _heading(self, text: str) -> None:
        self.stdout.write(self.style.SUCCESS(f"\n{text}"))
