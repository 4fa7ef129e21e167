"""What operators' pages show: `{{ document.updated_at|when }}`, `{{ job.state|badge }}`.

Thin wrappers of ragsite/platform/wording.py and ragsite/web/markup.py.
"""

from typing import Any

from django import template

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
    """12345 → 12,345; also with decimals, which stay as they are."""
    return markup.NOTHING if value in (None, "") else f"{value:,}"


@register.filter
def plural(count: Any, noun: str) -> str:
    """`{{ 3|plural:"document" }}` → 3 documents."""
    return wording.plural(int(count or 0), noun)
