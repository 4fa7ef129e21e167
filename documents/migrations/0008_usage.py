"""What embedding costs, by job and by namespace and month, and the shared pace of providers."""

import django.db.models.deletion
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants


class Migration(migrations.Migration):
    dependencies = [("documents", "0007_chunkers")]

    operations = [
        migrations.CreateModel(
            name="ProviderPace",
            fields=[
                ("provider", models.CharField(max_length=100, primary_key=True, serialize=False)),
                ("next_at", models.DateTimeField()),
                ("blocked_until", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="ingestjob",
            name="embedding_cost",
            field=models.DecimalField(decimal_places=6, default=0, max_digits=18),
        ),
        migrations.AddField(
            model_name="ingestjob",
            name="embedding_tokens",
            field=models.BigIntegerField(default=0),
        ),
        migrations.CreateModel(
            name="EmbeddingUsage",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("month", models.DateField(help_text="Its first day.")),
                ("model_identity", models.TextField()),
                ("tokens", models.BigIntegerField(default=0)),
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
                "verbose_name_plural": "embedding usage",
                "ordering": ["-month", "namespace", "model_identity"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("namespace", "month", "model_identity"), name="usage_once"
                    )
                ],
            },
        ),
        IsolateTenants("documents_embeddingusage"),
    ]
