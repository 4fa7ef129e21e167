"""The admin site: its login, its menu, and the dashboard as its index page."""

from collections.abc import Callable, Iterable
from typing import Any

from django.contrib.admin import AdminSite
from django.db.models import Model
from django.http import HttpRequest, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import path, reverse

from . import audit, navigation
from .elsewhere import with_hint
from .namespace_choice import choices, choose_namespace
from .signing_in import SignInForm

# On django-q2's own pages an operator could have any function called.
WITHOUT_PAGES = {"django_q"}


class OperatorSite(AdminSite):
    site_header = site_title = "Ragsite"
    login_form = SignInForm
    # Set by evaluation/admin/dashboard, which may import every app.
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

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        return super().admin_view(with_hint(view), cacheable)

    def get_urls(self) -> list[Any]:
        choose = self.admin_view(choose_namespace)
        return [
            path("namespace/", choose, name="choose_namespace"),
            # Not wrapped in admin_view, because people who are not staff sign out here, too.
            path("logout/", self.logout, name="logout"),
            *super().get_urls(),
        ]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context: dict[str, Any] = super().each_context(request)
        if context["has_permission"] and not context["is_popup"]:
            context["namespace_choice"] = choices(request)
        return context

    def get_app_list(
        self, request: HttpRequest, app_label: str | None = None
    ) -> list[dict[str, Any]]:
        """Return the models in the groups of the settings, except on the page of one app."""
        apps: Any = super().get_app_list(request, app_label)
        return list(apps) if app_label else navigation.grouped(apps)

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Show the dashboard to users who may see documents, and Django's list of pages to
        others."""
        if self.dashboard is None or not request.user.has_perm("documents.view_document"):
            return super().index(request, extra_context)
        context = {**self.each_context(request), "title": "Dashboard", "subtitle": None}
        context |= {**self.dashboard(request), **(extra_context or {})}
        request.current_app = self.name
        return TemplateResponse(request, "admin/dashboard/dashboard.html", context)

    def app_index(
        self, request: HttpRequest, app_label: str, extra_context: dict[str, Any] | None = None
    ) -> Any:
        """Redirect to the menu: operators do not need Django's division into apps."""
        return HttpResponseRedirect(reverse("admin:index"))

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Sign in all users; those who are not staff are sent to the pages at `/`."""
        response = super().login(request, extra_context)
        is_signed_in = request.method == "POST" and response.status_code == 302
        if is_signed_in and not self.has_permission(request):
            return HttpResponseRedirect(reverse("home"))
        return response

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
