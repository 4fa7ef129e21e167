"""Search stores outside of the database: which profile uses one, and what each lacks."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants, role
from ragsite.database.sql_functions import SqlFunction

CHUNKS = """
CREATE TRIGGER store_told_added AFTER INSERT ON documents_chunk REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION ragsite.note_chunks_for_stores();
CREATE TRIGGER store_told_removed AFTER DELETE ON documents_chunk REFERENCING OLD TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION ragsite.note_chunks_for_stores();
"""
NO_CHUNKS = """
DROP TRIGGER store_told_added ON documents_chunk;
DROP TRIGGER store_told_removed ON documents_chunk;
"""

# Only what can be filtered by. A condition is cheaper than the function that it guards.
DOCUMENTS = """
CREATE TRIGGER store_told_changed
AFTER UPDATE OF tags, metadata, source_type, language, dated_at ON documents_document
FOR EACH ROW WHEN (
    (OLD.tags, OLD.metadata, OLD.source_type, OLD.language, OLD.dated_at)
    IS DISTINCT FROM (NEW.tags, NEW.metadata, NEW.source_type, NEW.language, NEW.dated_at)
) EXECUTE FUNCTION ragsite.note_documents_for_stores();
CREATE TRIGGER store_told_added AFTER INSERT ON documents_collectiondocument
REFERENCING NEW TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION ragsite.note_documents_for_stores();
CREATE TRIGGER store_told_removed AFTER DELETE ON documents_collectiondocument
REFERENCING OLD TABLE AS changed
FOR EACH STATEMENT EXECUTE FUNCTION ragsite.note_documents_for_stores();
"""
NO_DOCUMENTS = """
DROP TRIGGER store_told_changed ON documents_document;
DROP TRIGGER store_told_added ON documents_collectiondocument;
DROP TRIGGER store_told_removed ON documents_collectiondocument;
"""


def let_triggers_write(apps: object, schema_editor: object) -> None:
    definer = role("definer")
    for statement in (
        f"CREATE POLICY noting ON documents_storechange FOR ALL TO {definer} "
        "USING (true) WITH CHECK (true)",
        f"GRANT INSERT, UPDATE ON documents_storechange TO {definer}",
        f"GRANT USAGE ON SEQUENCE documents_storechange_id_seq TO {definer}",
    ):
        schema_editor.execute(statement)


def keep_triggers_from_writing(apps: object, schema_editor: object) -> None:
    schema_editor.execute("DROP POLICY IF EXISTS noting ON documents_storechange")


class Migration(migrations.Migration):
    dependencies = [("documents", "0029_webhooks")]

    operations = [
        migrations.AddField(
            model_name="indexprofile",
            name="store",
            field=models.CharField(
                db_default="pgvector",
                default="pgvector",
                help_text="Where searches find chunks: pgvector (this database), or an alias in "
                "settings.STORES, such as qdrant.",
                max_length=50,
            ),
        ),
        migrations.AddField(
            model_name="indexprofile",
            name="store_options",
            field=models.JSONField(
                blank=True,
                db_default=models.Value({}, models.JSONField()),
                default=dict,
                help_text='Of qdrant: {"quantization": "int8", "shards": 1, "replicas": 1, '
                '"m": 16, "ef_construct": 100, "on_disk": "none"}.',
            ),
        ),
        migrations.CreateModel(
            name="StoreChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("document_id", models.UUIDField()),
                ("changes", models.PositiveIntegerField(db_default=1, default=1)),
                ("attempts", models.PositiveIntegerField(db_default=0, default=0)),
                (
                    "run_after",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                ("lease_until", models.DateTimeField(null=True)),
                ("lease_token", models.UUIDField(null=True)),
                (
                    "error_code",
                    models.CharField(blank=True, db_default="", default="", max_length=50),
                ),
                ("error_message", models.TextField(blank=True, db_default="", default="")),
                (
                    "created_at",
                    models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
                ),
                (
                    "namespace",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="documents.namespace",
                    ),
                ),
                (
                    "profile",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="documents.indexprofile",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("namespace", "profile", "document_id"), name="store_change_once"
                    )
                ],
            },
        ),
        IsolateTenants("documents_storechange", definer_reads=True),
        migrations.RunPython(let_triggers_write, keep_triggers_from_writing),
        SqlFunction("documents", "0030_note_chunks_for_stores.sql"),
        SqlFunction("documents", "0030_note_documents_for_stores.sql"),
        SqlFunction("documents", "0030_store_changes_due.sql"),
        migrations.RunSQL(CHUNKS, NO_CHUNKS),
        migrations.RunSQL(DOCUMENTS, NO_DOCUMENTS),
    ]
