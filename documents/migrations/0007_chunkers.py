"""Chunkers and contextual headers, chosen by profile. Profiles in use keep what they had; the
default one, where nothing was indexed with it yet, gets headers (docs/decisions/0012)."""

from django.db import migrations, models

PROFILE = "5f0b7d5e-6c1a-5b8e-9d5c-2f4d3c1b0a01"


def give_headers(apps, schema_editor):
    profiles = apps.get_model("documents", "IndexProfile").objects
    unused = profiles.using(schema_editor.connection.alias).filter(id=PROFILE, model_identity="")
    unused.update(contextual_header=True)


class Migration(migrations.Migration):
    dependencies = [("documents", "0006_facts")]

    operations = [
        migrations.AddField(
            model_name="indexprofile",
            name="chunker",
            field=models.CharField(
                choices=[
                    ("structure", "Structure"),
                    ("fixed", "Fixed"),
                    ("semantic", "Semantic"),
                ],
                default="structure",
                help_text="Where chunks end: structure (paragraphs and sentences), fixed (a number "
                "of characters) or semantic (turns of meaning; every sentence is embedded for it).",
                max_length=10,
            ),
        ),
        migrations.AddField(
            model_name="indexprofile",
            name="chunker_options",
            field=models.JSONField(
                blank=True, default=dict, help_text='Of semantic: {"percentile": 1 to 99}.'
            ),
        ),
        migrations.AddField(
            model_name="indexprofile",
            name="contextual_header",
            field=models.BooleanField(
                default=False,
                help_text="Embed title and section path above each chunk. Its content stays "
                "verbatim.",
            ),
        ),
        migrations.AlterField(
            model_name="indexprofile",
            name="chunk_overlap",
            field=models.PositiveIntegerField(
                help_text="Repeated from the chunk before, in the same unit; 0 with the semantic "
                "chunker."
            ),
        ),
        migrations.AlterField(
            model_name="indexprofile",
            name="chunk_size",
            field=models.PositiveIntegerField(
                help_text="Tokens a chunk aims for; characters with the fixed chunker."
            ),
        ),
        migrations.RunPython(give_headers, migrations.RunPython.noop),
    ]
