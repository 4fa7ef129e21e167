from django.apps import AppConfig


class DocumentsConfig(AppConfig):
    name = "documents"
    verbose_name = "Documents"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from ragsite.platform import metrics
        from ragsite.platform.logs import current_request_id

        from . import checks, model_checks  # noqa: F401  (register themselves)
        from .providers import observing

        observing.request_id = current_request_id
        observing.count_failure = lambda code: metrics.PROVIDER_ERRORS.labels(code).inc()
