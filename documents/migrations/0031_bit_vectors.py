"""The index methods bit and vchordrq; diskann is withdrawn."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0030_search_stores"),
    ]

    operations = [
        migrations.AlterField(
            model_name="indexprofile",
            name="ann_method",
            field=models.CharField(
                choices=[
                    ("hnsw", "Hnsw"),
                    ("bit", "Bit"),
                    ("ivfflat", "Ivfflat"),
                    ("exact", "Exact"),
                    ("scann", "Scann"),
                    ("vchordrq", "Vchordrq"),
                    ("diskann", "Diskann"),
                ],
                default="hnsw",
                help_text="How near vectors are found: hnsw, bit (hnsw over one bit for each "
                "number, for less memory), ivfflat, or exact (no index); scann and vchordrq, both "
                "untested, where the server has their extension. diskann is withdrawn.",
                max_length=10,
                verbose_name="ANN method",
            ),
        ),
        migrations.AlterField(
            model_name="indexprofile",
            name="ann_options",
            field=models.JSONField(
                blank=True,
                default=dict,
                help_text='Of hnsw: {"m": 16, "ef_construction": 64}; of bit also {"rescore": 8}. '
                'Of ivfflat: {"lists": …, "probes": …}, chosen by the number of rows where not '
                "named.",
                verbose_name="ANN options",
            ),
        ),
    ]
