from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("retrieval", "0005_documents_by_index")]

    operations = [
        migrations.AddField(
            model_name="querylog", name="returned", field=models.JSONField(null=True)
        ),
        migrations.AddField(
            model_name="querylog", name="relevance", field=models.FloatField(null=True)
        ),
    ]
