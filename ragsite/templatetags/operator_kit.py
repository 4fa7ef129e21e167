"""Filters and tags of operators' pages: `{{ document.updated_at|when }}`, `{{ job.state|badge }}`.
Thin wrappers of ragsite/platform/wording.py and ragsite/web/markup.py.

A ModelAdmin may have a `row_noun`: the name of one row, if the model's own name is unsuitable ("3
query log").
"""

import json
from typing import Any

from django import template
from django.core.exceptions import FieldDoesNotExist
from django.db.models import DateTimeField, JSONField
from django.utils.html import format_html

from ragsite.platform import wording
from ragsite.web import markup

register = template.Library()

register.filter("when", markup.when)
register.filter("badge", markup.badge)
register.filter("short_id", markup.short_id)
register.filter("score_bar", markup.score_bar)
register.simple_tag(markup.progress_bar, name="progress_bar")


@register.filter
def file_size(value: Any) -> str:
    return markup.NOTHING if value in (None, "") else wording.file_size(int(value))


@register.filter
def duration(seconds: Any) -> str:
    return markup.NOTHING if seconds in (None, "") else wording.duration(float(seconds))


@register.filter
def thousands(value: Any) -> str:
    """12345 → 12,345; decimals are kept."""
    return markup.NOTHING if value in (None, "") else f"{value:,}"


@register.filter
def plural(count: Any, noun: str) -> str:
    """`{{ 3|plural:"document" }}` → 3 documents."""
    return wording.plural(int(count or 0), noun)


@register.filter
def row_noun(changelist: Any) -> str:
    return str(getattr(changelist.model_admin, "row_noun", "") or changelist.opts.verbose_name)


@register.filter
def row_nouns(changelist: Any) -> str:
    """The plural of row_noun, such as `questions`."""
    noun = getattr(changelist.model_admin, "row_noun", "")
    return wording.plural_noun(noun) if noun else str(changelist.opts.verbose_name_plural)


@register.filter
def counted(changelist: Any) -> str:
    """The number of rows in a list: `1 question`, `12,345 documents`, `10,000+ chunks`."""
    count = changelist.result_count
    noun = row_noun(changelist) if count == 1 else row_nouns(changelist)
    more = "+" if getattr(changelist.paginator, "is_bounded", False) else ""
    return f"{count:,}{more} {noun}"


@register.simple_tag
def current_page(groups: Any, path: str) -> str:
    """The longest address in the menu that `path` begins with."""
    pages = [item.get("admin_url") or "" for group in groups for item in group["models"]]
    return max((page for page in pages if page and path.startswith(page)), key=len, default="")


@register.filter
def readable(field: Any) -> Any:
    """A read-only field of a form: times are relative, and JSON is indented."""
    name = field.field["field"]
    instance = field.form.instance
    try:
        model_field = instance._meta.get_field(name) if isinstance(name, str) else None
    except FieldDoesNotExist:
        return field.contents()
    value = getattr(instance, name) if model_field else None
    if isinstance(model_field, DateTimeField):
        return markup.when(value)
    if isinstance(model_field, JSONField) and value:
        laid_out = json.dumps(value, indent=2, ensure_ascii=False, default=str)
        return format_html("<pre>{}</pre>", laid_out)
    return field.contents()


@register.filter
def admin_page(options: Any, page: str) -> str:
    """The name of a model's page: `{% url opts|admin_page:"add" %}`."""
    return f"admin:{options.app_label}_{options.model_name}_{page}"
