"""Failed logins, counted: by user and address together, by user, and by address."""

from django.db import models
from django.db.models.functions import Now


class LoginThrottle(models.Model):
    """`key` is pair:USER@ADDRESS, user:USER or address:ADDRESS
    (documents/accounts/login_throttle.py)."""

    key = models.CharField(max_length=400, primary_key=True)
    failures = models.PositiveIntegerField(default=0)
    locks = models.PositiveIntegerField(default=0, help_text="In a row: each lasts longer.")
    locked_until = models.DateTimeField(null=True)
    last_attempt_at = models.DateTimeField(db_default=Now())
    last_success_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions = ("view",)

    def __str__(self) -> str:
        return self.key
