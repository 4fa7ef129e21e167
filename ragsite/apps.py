"""Makes ragsite an app, so that Django finds its commands (`up`, `migrate`) and its checks."""

from django.apps import AppConfig


class RagsiteConfig(AppConfig):
    name = "ragsite"

    def ready(self) -> None:
        from . import alias_checks, checks, production_checks  # noqa: F401  (register themselves)
