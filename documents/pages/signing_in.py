"""GET and POST /sign-in, POST /sign-out: the sign-in page for all users, not only operators."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from documents.accounts import audit
from documents.accounts.people import may_use_pages
from documents.accounts.signing_in import SignInForm
from ragsite.access.actor import USER, set_actor

from .people import signed_in

WRONG = "The name or the password is wrong. Mind capitals and small letters."


class PersonSignInForm(SignInForm):
    error_messages = {"invalid_login": WRONG, "inactive": WRONG}

    def confirm_login_allowed(self, user: AbstractBaseUser) -> None:
        if not may_use_pages(user):
            raise self.get_invalid_login_error()


class SignInView(LoginView):
    template_name = "pages/sign_in.html"
    authentication_form = PersonSignInForm

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if signed_in(request):
            return HttpResponseRedirect(self.get_success_url())
        return super().get(request, *args, **kwargs)

    def get_default_redirect_url(self) -> str:
        return reverse("home")


class SignOutView(LogoutView):
    next_page = "home"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        user = signed_in(request)
        if user is not None:
            set_actor(USER, user.get_username())
            audit.record("logout", target=audit.Target("login", label=user.get_username()))
        return super().post(request, *args, **kwargs)
