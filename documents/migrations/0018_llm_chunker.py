"""One more chunker; nothing changes in the database."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0017_answer_settings"),
    ]

    operations = [
        migrations.AlterField(
            model_name="indexprofile",
            name="chunk_overlap",
            field=models.PositiveIntegerField(
                help_text="Repeated from the chunk before, in the same unit; 0 with the semantic "
                "and llm chunkers."
            ),
        ),
        migrations.AlterField(
            model_name="indexprofile",
            name="chunker",
            field=models.CharField(
                choices=[
                    ("structure", "Structure"),
                    ("fixed", "Fixed"),
                    ("semantic", "Semantic"),
                    ("llm", "Llm"),
                ],
                default="structure",
                help_text="Where chunks end: structure (paragraphs and sentences), fixed (a number "
                "of characters), semantic (turns of meaning; every sentence is embedded for it) or "
                "llm (a language model names the sentences at which a topic begins).",
                max_length=10,
            ),
        ),
    ]
