"""`manage.py explain_query`: which plan each leg takes, in words and from PostgreSQL itself."""

import io
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command

from documents.models import Namespace

from ..client import Api


def explained(tenant: Namespace, question: str, **options: object) -> str:
    out = io.StringIO()
    call_command("explain_query", question, namespace=tenant.slug, stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def harbour(api: Api, tenant: Namespace, work: Callable[[], int]) -> Namespace:
    api.upload(("harbour.md", "# Harbour\n\nThe harbour has twelve lights."))
    api.upload(("tower.md", "# Tower\n\nThe granite tower is high."))
    work()
    return tenant


def test_both_legs_are_explained(harbour: Namespace):
    told = explained(harbour, "granite tower")
    assert "the whole namespace: about 2 of 2 chunks" in told
    assert "Dense leg: exact" in told
    assert "granit: weight" in told
    assert "search_vector @@" in told
    assert told.count("actual time") > 2  # it ran, and was not only planned


def test_a_filter_shows_what_it_leaves(harbour: Namespace):
    told = explained(harbour, "granite", filter='{"source_types": ["pdf"]}')
    assert "what passes the filter, by its documents' ids: about 0 of 2 chunks" in told
    assert "Lexical leg: every chunk that passes" in told


def test_words_that_nobody_has_counted_say_so(tenant: Namespace):
    assert "words not counted yet" in explained(tenant, "granite")


def test_a_filter_that_is_none_is_refused(harbour: Namespace):
    with pytest.raises(CommandError):
        explained(harbour, "granite", filter='{"no_such_filter": 1}')
