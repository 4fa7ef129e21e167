"""What language models take, by namespace and month."""

import django.db.models.deletion
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants


class Migration(migrations.Migration):
    dependencies = [("documents", "0018_llm_chunker")]

    operations = [
        migrations.CreateModel(
            name="LanguageModelUsage",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("month", models.DateField(help_text="Its first day.")),
                ("model_identity", models.TextField()),
                ("calls", models.BigIntegerField(default=0)),
                ("prompt_tokens", models.BigIntegerField(default=0)),
                ("completion_tokens", models.BigIntegerField(default=0)),
                ("cost", models.DecimalField(decimal_places=6, default=0, max_digits=18)),
                (
                    "namespace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="documents.namespace",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "language model usage",
                "ordering": ["-month", "namespace", "model_identity"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("namespace", "month", "model_identity"),
                        name="language_model_usage_once",
                    )
                ],
            },
        ),
        IsolateTenants("documents_languagemodelusage"),
    ]
