"""Plainer help texts; the database does not change."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("evaluation", "0005_feedback_vectors"),
    ]

    operations = [
        migrations.AlterField(
            model_name="feedback",
            name="filters",
            field=models.JSONField(default=dict, help_text="Filters, as in POST /query."),
        ),
        migrations.AlterField(
            model_name="feedback",
            name="useful",
            field=models.BooleanField(help_text="Empty if the user did not say.", null=True),
        ),
        migrations.AlterField(
            model_name="goldenquery",
            name="external_id",
            field=models.CharField(
                blank=True,
                help_text="The question's id in the file it was imported from.",
                max_length=200,
            ),
        ),
        migrations.AlterField(
            model_name="goldenquery",
            name="filters",
            field=models.JSONField(
                blank=True, default=dict, help_text="Filters, as in POST /query."
            ),
        ),
        migrations.AlterField(
            model_name="judgement",
            name="grade",
            field=models.PositiveSmallIntegerField(
                default=1,
                help_text="0: does not answer. 1: on the subject. 2: answers in part. 3: answers.",
                validators=[django.core.validators.MaxValueValidator(10)],
            ),
        ),
        migrations.AlterField(
            model_name="judgement",
            name="is_hard_negative",
            field=models.BooleanField(
                default=False, help_text="Looks right but is not. Exported to train rerankers."
            ),
        ),
        migrations.AlterField(
            model_name="judgement",
            name="part",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                help_text="Part of the answer. Texts of one part are alternatives: "
                "the context needs one of them.",
                validators=[django.core.validators.MaxValueValidator(100)],
            ),
        ),
    ]
