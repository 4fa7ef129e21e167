"""What search stores have to be told yet."""

from django.db import models
from django.db.models.functions import Now

from .indexing import IndexProfile


class StoreChange(models.Model):
    """A document whose chunks under a profile may differ from what the profile's store holds.

    Triggers write it in the transaction that changes chunks, tags or the like, whatever code does
    that; it is deleted when the store has been told. It says what to compare and not what has
    changed, so telling the store twice, or late, ends in the same state.
    """

    id = models.BigAutoField(primary_key=True)
    # No constraints in the database: a store has to forget what a deleted namespace held.
    namespace = models.ForeignKey(
        "documents.Namespace",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="+",
    )
    profile = models.ForeignKey(
        IndexProfile, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    document_id = models.UUIDField()
    changes = models.PositiveIntegerField(default=1, db_default=1)  # since it was last told
    attempts = models.PositiveIntegerField(default=0, db_default=0)  # that failed in a row
    run_after = models.DateTimeField(db_default=Now())
    lease_until = models.DateTimeField(null=True)
    lease_token = models.UUIDField(null=True)
    error_code = models.CharField(max_length=50, blank=True, default="", db_default="")
    error_message = models.TextField(blank=True, default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())  # of the oldest change

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "profile", "document_id"], name="store_change_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.document_id} for {self.profile_id}"
