"""Deletions of documents and of namespaces are claimed with a token, like all other work."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("documents", "0031_bit_vectors")]

    operations = [
        migrations.AddField(
            model_name="documentremoval",
            name="lease_token",
            field=models.UUIDField(null=True),
        ),
        migrations.AddField(
            model_name="namespaceremoval",
            name="lease_token",
            field=models.UUIDField(editable=False, null=True),
        ),
    ]
