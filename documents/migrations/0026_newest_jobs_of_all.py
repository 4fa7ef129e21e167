"""An index for operators, whose list of jobs spans all namespaces."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # built beside the queue, which is written meanwhile

    dependencies = [("documents", "0025_namespace_access")]

    operations = [
        AddIndexConcurrently(
            model_name="ingestjob",
            index=models.Index(fields=["-created_at", "-id"], name="job_newest_of_all"),
        ),
    ]
