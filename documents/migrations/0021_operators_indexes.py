"""Indexes for operators, whose lists and counts span all namespaces."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0020_collections"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="document",
            index=models.Index(fields=["-created_at", "-id"], name="document_newest_of_all"),
        ),
        migrations.AddIndex(
            model_name="document",
            index=models.Index(
                condition=~models.Q(status="ready"),
                fields=["status", "-created_at"],
                name="document_not_ready",
            ),
        ),
        migrations.AddIndex(
            model_name="ingestjob",
            index=models.Index(
                condition=models.Q(state="failed"), fields=["finished_at"], name="job_failed"
            ),
        ),
    ]
