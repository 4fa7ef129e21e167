"""Judged texts can be parts of one answer, all of which a context must hold."""

from django.core.validators import MaxValueValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0002_feedback")]

    operations = [
        migrations.AddField(
            model_name="judgement",
            name="part",
            field=models.PositiveSmallIntegerField(
                db_default=0,
                default=0,
                help_text="Of the answer. Texts of the same part are alternatives; one of each "
                "part must be in the context.",
                validators=[MaxValueValidator(100)],
            ),
        ),
    ]
