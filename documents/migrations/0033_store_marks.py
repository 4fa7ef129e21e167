"""What a search store has confirmed, as a number that the store has to name."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("documents", "0032_removal_claims")]

    operations = [
        migrations.AddField(
            model_name="indexprofile",
            name="store_mark",
            field=models.PositiveBigIntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AlterField(
            model_name="indexprofile",
            name="store_options",
            field=models.JSONField(
                blank=True,
                db_default=models.Value({}, models.JSONField()),
                default=dict,
                help_text='Of qdrant: {"quantization": "int8", "shards": 1, "replicas": 1, '
                '"m": 16, "ef_construct": 100, "on_disk": "none", "sharding": "none"}.',
            ),
        ),
    ]
