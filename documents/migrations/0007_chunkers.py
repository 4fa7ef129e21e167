"""Chunkers and contextual headers, chosen by profile. Existing profiles keep what they had."""

from django.db import migrations, models


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
    ]
