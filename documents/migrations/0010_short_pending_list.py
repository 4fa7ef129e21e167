"""New words wait in a list that every search reads through: half a megabyte of it, not four."""

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("documents", "0009_reindex")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # Django would build the whole index anew.
            database_operations=[
                migrations.RunSQL(
                    "ALTER INDEX chunk_words SET (gin_pending_list_limit = 512)",
                    "ALTER INDEX chunk_words RESET (gin_pending_list_limit)",
                )
            ],
            state_operations=[
                migrations.RemoveIndex(model_name="chunkterms", name="chunk_words"),
                migrations.AddIndex(
                    model_name="chunkterms",
                    index=GinIndex(
                        fields=["search_vector", "place"],
                        name="chunk_words",
                        gin_pending_list_limit=512,
                    ),
                ),
            ],
        )
    ]
