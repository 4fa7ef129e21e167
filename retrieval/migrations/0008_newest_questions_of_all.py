"""An index for operators, whose list of questions spans all namespaces."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False  # built beside the log, which is written meanwhile

    dependencies = [("retrieval", "0007_learned_models")]

    operations = [
        migrations.AlterModelOptions(
            name="querylog",
            options={
                "ordering": ["-created_at"],
                "verbose_name": "logged question",
                "verbose_name_plural": "query log",
            },
        ),
        AddIndexConcurrently(
            model_name="querylog",
            index=models.Index(fields=["-created_at", "-id"], name="query_log_newest_of_all"),
        ),
    ]
