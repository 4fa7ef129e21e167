"""The admin's menu: the pages that this user may open, grouped by settings.ADMIN_NAVIGATION."""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.text import slugify

Item = dict[str, Any]


def grouped(apps: Iterable[Item]) -> list[Item]:
    """Return Django's list of models in the groups of the settings; pages without a model are
    entries with a name and an address."""
    allowed = {model["model"]._meta.label: model for app in apps for model in app["models"]}
    groups = []
    for name, entries in settings.ADMIN_NAVIGATION:
        items = [
            allowed.pop(entry, None) if isinstance(entry, str) else _page(*entry)
            for entry in entries
        ]
        groups.append(_group(name, [item for item in items if item]))
    groups.append(_group("More", list(allowed.values())))
    return [group for group in groups if group["models"]]


def _page(title: str, url_name: str) -> Item:
    name = url_name.rpartition(":")[2].replace("_", "")
    return {
        "name": title,
        "object_name": name,
        "admin_url": reverse(url_name),
        "add_url": None,
        "view_only": True,
        "perms": {},
    }


def _group(name: str, items: list[Item]) -> Item:
    return {
        "name": name,
        "app_label": slugify(name),
        "app_url": reverse("admin:index"),
        "has_module_perms": True,
        "models": items,
    }
