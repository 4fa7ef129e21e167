"""The encoding an uploader chose for a version, and the folder a document came from."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("documents", "0013_profile_owner")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="origin",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.AddField(
            model_name="documentversion",
            name="encoding",
            field=models.CharField(blank=True, db_default="", default="", max_length=40),
        ),
    ]
