"""The profile every namespace starts with, and its vector index."""

from django.db import migrations

PROFILE = "5f0b7d5e-6c1a-5b8e-9d5c-2f4d3c1b0a01"


def create_profile(apps, schema_editor):
    # all-MiniLM-L6-v2 reads 256 tokens, 2 of them its own: 220 leaves room, 33 is 15 % of it.
    apps.get_model("documents", "IndexProfile").objects.using(
        schema_editor.connection.alias
    ).create(
        id=PROFILE,
        name="default",
        chunk_size=220,
        chunk_overlap=33,
        embedder="default",
        dimensions=384,
        ann_method="hnsw",
        ann_options={"m": 16, "ef_construction": 64},
    )


def remove_profile(apps, schema_editor):
    using = schema_editor.connection.alias
    apps.get_model("documents", "IndexProfile").objects.using(using).filter(id=PROFILE).delete()


class Migration(migrations.Migration):
    dependencies = [("documents", "0003_tenant_wall")]

    operations = [
        migrations.RunPython(create_profile, remove_profile),
        # Half precision in the index, full precision in the table: candidates from the one,
        # their order from the other.
        migrations.RunSQL(
            "CREATE INDEX chunk_vectors_5f0b7d5e6c1a5b8e9d5c2f4d3c1b0a01 ON documents_chunk "
            "USING hnsw ((embedding::halfvec(384)) halfvec_cosine_ops) "
            f"WITH (m = 16, ef_construction = 64) WHERE profile_id = '{PROFILE}'",
            "DROP INDEX chunk_vectors_5f0b7d5e6c1a5b8e9d5c2f4d3c1b0a01",
        ),
    ]
