"""The cost of models by namespace and month, and when a provider may be called next."""

from django.db import models

from .namespaces import Namespace


class EmbeddingUsage(models.Model):
    """Tokens embedded for a namespace in a calendar month (UTC), by model."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    month = models.DateField(help_text="Its first day.")
    model_identity = models.TextField()
    tokens = models.BigIntegerField(default=0)
    cost = models.DecimalField(max_digits=18, decimal_places=6, default=0)

    class Meta:
        verbose_name_plural = "embedding usage"
        ordering = ["-month", "namespace", "model_identity"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "month", "model_identity"], name="usage_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.month:%Y-%m} {self.model_identity}"


class LanguageModelUsage(models.Model):
    """Tokens that language models read and wrote for a namespace in a calendar month (UTC), by
    model."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.ForeignKey(
        Namespace, on_delete=models.CASCADE, db_index=False, related_name="+"
    )
    month = models.DateField(help_text="Its first day.")
    model_identity = models.TextField()
    calls = models.BigIntegerField(default=0)
    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    cost = models.DecimalField(max_digits=18, decimal_places=6, default=0)

    class Meta:
        verbose_name_plural = "language model usage"
        ordering = ["-month", "namespace", "model_identity"]
        constraints = [
            models.UniqueConstraint(
                fields=["namespace", "month", "model_identity"], name="language_model_usage_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.month:%Y-%m} {self.model_identity}"


class ProviderPace(models.Model):
    """Shared by all processes that call a provider. Contains no tenant's content, only two
    times."""

    provider = models.CharField(max_length=100, primary_key=True)
    next_at = models.DateTimeField()
    blocked_until = models.DateTimeField()

    def __str__(self) -> str:
        return self.provider
