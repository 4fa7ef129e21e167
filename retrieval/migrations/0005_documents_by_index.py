"""Look documents up by the indexes on their tags and metadata, which row-level security would
leave unused: its condition must come first, and theirs are not proven to tell nothing."""

from django.db import migrations

from ragsite.database.isolation import DefinerFunction

OPTIONS = {"plan_cache_mode": "force_custom_plan", "enable_seqscan": "off"}


def documents(signature: str, condition: str) -> DefinerFunction:
    return DefinerFunction(
        signature,
        "TABLE (document_id uuid)",
        "SELECT id FROM documents_document "  # noqa: S608  (nobody's words but ours)
        f"WHERE namespace_id = ragsite.current_namespace() AND {condition}",
        options=OPTIONS,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0010_short_pending_list"),
        ("retrieval", "0004_query_log_in_namespace"),
    ]

    operations = [
        documents("documents_tagged(wanted text[])", "tags && wanted"),
        documents("documents_tagged_all(wanted text[])", "tags @> wanted"),
        documents("documents_holding(wanted jsonb[])", "metadata @> ANY (wanted)"),
    ]
