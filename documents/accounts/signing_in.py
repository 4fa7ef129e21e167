"""Signing in to the admin: a throttled password check that records every attempt."""

from typing import Any

from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest

from ragsite.access.actor import USER, set_actor
from ragsite.access.client_address import client_address, network_of

from . import audit, login_throttle
from .people import may_use_pages

LOCKED = (
    "Too many failed attempts. Wait a while and try again, or ask an operator to "
    "unlock it (manage.py unlock_login)."
)


class ThrottledBackend(ModelBackend):
    """Checks a password unless there were too many failures before."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> Any:
        if username is None or password is None:
            return None
        address = network_of(client_address(request)) if request else ""
        attempt = login_throttle.Attempt(username, address)
        if not login_throttle.take_slot(attempt):
            if request is not None:
                request.META["ragsite.login_locked"] = True
            raise PermissionDenied
        user = super().authenticate(request, username=username, password=password, **kwargs)
        if user is not None:
            login_throttle.record_success(attempt)
        return user


class SignInForm(AdminAuthenticationForm):
    """For staff, and for users with a namespace, who may ask but see no admin."""

    def confirm_login_allowed(self, user: Any) -> None:
        if user.is_staff or not may_use_pages(user):
            super().confirm_login_allowed(user)

    def clean(self) -> dict[str, Any]:
        try:
            fields = super().clean()
        except ValidationError:
            if self._is_locked():
                # The same message whether or not the user exists.
                raise ValidationError(LOCKED, code="locked") from None
            self._record("login.fail")
            raise
        if self.user_cache is not None:
            set_actor(USER, self.user_cache.get_username())
            self._record("login")
        return fields

    def _is_locked(self) -> bool:
        return bool(self.request is not None and self.request.META.get("ragsite.login_locked"))

    def _record(self, action: str) -> None:
        name = self.cleaned_data.get("username", "")
        audit.record(action, target=audit.Target("login", label=name))
