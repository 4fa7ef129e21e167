"""What a link that carries the namespace needs to point to."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("retrieval", "0003_query_log"),
    ]

    operations = [
        migrations.AddConstraint(
            model_name="querylog",
            constraint=models.UniqueConstraint(
                fields=("namespace", "id"), name="query_log_in_namespace"
            ),
        ),
    ]
