"""Vectors of the questions with feedback, behind the tenant wall."""

import django.db.models.deletion
import pgvector.django.halfvec
from django.db import migrations, models

from ragsite.database.isolation import IsolateTenants

TABLE = "evaluation_feedbackvector"
# It carries the namespace: plain foreign keys ignore row-level security.
LINK = f"{TABLE}_feedback_id_same_namespace"


class Migration(migrations.Migration):
    dependencies = [
        ("documents", "0023_memory"),
        ("evaluation", "0004_lease_token"),
    ]

    operations = [
        migrations.CreateModel(
            name="FeedbackVector",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("embedding", pgvector.django.halfvec.HalfVectorField()),
                (
                    "feedback",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="vectors",
                        to="evaluation.feedback",
                    ),
                ),
                (
                    "namespace",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="documents.namespace",
                    ),
                ),
                (
                    "profile",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="documents.indexprofile",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="feedbackvector",
            constraint=models.UniqueConstraint(
                fields=("namespace", "profile", "feedback"), name="feedback_vector_once"
            ),
        ),
        migrations.AddIndex(
            model_name="feedbackvector",
            index=models.Index(
                fields=["namespace", "feedback"], name="feedback_vector_of_feedback"
            ),
        ),
        migrations.AddIndex(
            model_name="feedbackvector",
            index=models.Index(fields=["profile"], name="feedback_vector_of_profile"),
        ),
        migrations.RunSQL(
            f"ALTER TABLE {TABLE} ADD CONSTRAINT {LINK} FOREIGN KEY (namespace_id, feedback_id) "
            "REFERENCES evaluation_feedback (namespace_id, id) ON DELETE CASCADE",
            f"ALTER TABLE {TABLE} DROP CONSTRAINT {LINK}",
        ),
        IsolateTenants(TABLE),
    ]
