"""The link of a cited fact: to its source, if that can be opened."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.urls import reverse

from documents.pages.links import passage_url


def fact_url(namespace_id: uuid.UUID, fact: Mapping[str, Any], *, base_url: str) -> str:
    """Return a link to the passage that states the fact, else to its source on the web, else to
    the fact in the API. `fact` as `mixing.fact_note` describes it."""
    for place in fact["provenances"]:
        if place["document_id"] and place["version"] and place["span"]:
            return passage_url(
                namespace_id=namespace_id,
                document_id=uuid.UUID(place["document_id"]),
                version=place["version"],
                start=place["span"]["start"],
                end=place["span"]["end"],
                base_url=base_url,
            )
    sources = (place["source_uri"] for place in fact["provenances"])
    on_the_web = (uri for uri in sources if uri.startswith(("https://", "http://")))
    own = f"{settings.PUBLIC_URL or base_url.rstrip('/')}{reverse('fact', args=[fact['id']])}"
    return next(on_the_web, own)
