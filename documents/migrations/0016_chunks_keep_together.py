"""Ingestion version 2: tables with their lead-in, rows whole, tiny sections together, 200 tokens.

A default profile that nothing was indexed with becomes that. One in use stays as it is, with its
namespaces, and the new default stands beside it as `default-2` (docs/reindex.md).
"""

from django.db import migrations, models

PROFILE = "5f0b7d5e-6c1a-5b8e-9d5c-2f4d3c1b0a01"
BETTER = {"chunk_size": 200, "chunk_overlap": 30, "ingestion_version": 2}


def improve_default(apps, schema_editor):
    using = schema_editor.connection.alias
    profiles = apps.get_model("documents", "IndexProfile").objects.using(using)
    chunks = apps.get_model("documents", "Chunk").objects.using(using)
    if not chunks.filter(profile_id=PROFILE).exists():
        profiles.filter(id=PROFILE, model_identity="").update(**BETTER)
    if profiles.filter(id=PROFILE, ingestion_version=1).exists():
        profiles.get_or_create(
            name="default-2",
            namespace=None,  # shared
            defaults={
                **BETTER,
                "embedder": "default",
                "dimensions": 384,
                "contextual_header": True,
                "ann_method": "hnsw",
                "ann_options": {"m": 16, "ef_construction": 64},
            },
        )


class Migration(migrations.Migration):
    dependencies = [("documents", "0015_namespace_removal")]

    operations = [
        migrations.AlterField(
            model_name="indexprofile",
            name="ingestion_version",
            field=models.PositiveIntegerField(default=2),
        ),
        migrations.RunPython(improve_default, migrations.RunPython.noop),
    ]
