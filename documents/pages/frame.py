"""The contents of the bar at the top of every page."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from documents.models import Namespace

from .people import is_operator


def frame(
    user: AbstractBaseUser | None, *, here: str = "", chosen: Namespace | None = None
) -> dict[str, Any]:
    """`here` is the page being shown: ask or library."""
    if user is None:
        return {}
    return {
        "user_name": user.get_username(),
        "is_operator": is_operator(user),
        "here": here,
        "chosen": chosen,
    }
