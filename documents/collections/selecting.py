"""The SQL that restricts a search to collections. `wanted` is a parameter: text[], names or ids."""


def usable_collections(wanted: str) -> str:
    """Select the ids of these collections, without those that have expired."""
    return f"""
        SELECT id FROM documents_collection
        WHERE (name = ANY ({wanted}::text[]) OR id::text = ANY ({wanted}::text[]))
          AND (expires_after_days IS NULL
               OR last_active_at + make_interval(days => expires_after_days) > now())
    """  # noqa: S608  (constants only)


def members_of(wanted: str) -> str:
    """Select the ids of the documents in these collections."""
    return f"""
        SELECT DISTINCT document_id FROM documents_collectiondocument
        WHERE collection_id = ANY (ARRAY({usable_collections(wanted)}))
    """  # noqa: S608  (constants only)
