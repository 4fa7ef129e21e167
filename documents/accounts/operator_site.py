"""The admin site: its login, its menu, and the dashboard as its index page."""

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib.admin import AdminSite
from django.db.models import Model
from django.http import HttpRequest
from django.template.response import TemplateResponse

from . import audit, navigation
from .signing_in import SignInForm

# In one of django-q2's own pages any function could be named and run.
WITHOUT_PAGES = {"django_q"}


class OperatorSite(AdminSite):
    site_header = site_title = "Ragsite"
    login_form = SignInForm
    # Set by evaluation/admin/dashboard, which may look into every app.
    dashboard: Callable[[HttpRequest], dict[str, Any]] | None = None

    def register(
        self,
        model_or_iterable: type[Model] | Iterable[type[Model]],
        admin_class: Any = None,
        **options: Any,
    ) -> None:
        is_one = isinstance(model_or_iterable, type)
        models: Any = [model_or_iterable] if is_one else model_or_iterable
        shown = [model for model in models if model._meta.app_label not in WITHOUT_PAGES]
        super().register(shown, admin_class, **options)

    def get_app_list(
        self, request: HttpRequest, app_label: str | None = None
    ) -> list[dict[str, Any]]:
        """In our own groups, except on the page of one app."""
        apps: Any = super().get_app_list(request, app_label)
        return list(apps) if app_label else navigation.grouped(apps)

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """The dashboard for those who may see documents; Django's list of pages for others."""
        if self.dashboard is None or not request.user.has_perm("documents.view_document"):
            return super().index(request, extra_context)
        context = {**self.each_context(request), "title": "Dashboard", "subtitle": None}
        context |= {**self.dashboard(request), **(extra_context or {})}
        request.current_app = self.name
        return TemplateResponse(request, "admin/dashboard/dashboard.html", context)

    def password_change(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        response = super().password_change(request, extra_context)
        if request.method == "POST" and response.status_code == 302:
            name = request.user.get_username()
            audit.record("user.password_change", target=audit.Target("user", label=name))
        return response

    def logout(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        if request.method == "POST" and request.user.is_authenticated:
            name = request.user.get_username()
            audit.record("logout", target=audit.Target("login", label=name))
        return super().logout(request, extra_context)
