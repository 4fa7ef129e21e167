"""Small pieces of HTML that operators' pages share, for templates (`{% load operator_kit %}`) and
for ModelAdmin columns. Their styles are in static/admin_kit/kit.css. Styles are never inline (the
Content-Security-Policy forbids it): lengths of bars are attributes."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from ragsite.platform.wording import exact_time, relative_time

NOTHING = "–"
NOTHING_SHOWN = format_html("{}", NOTHING)
SHORT_ID = 8  # characters

# The style of each state. Unknown states are shown plainly.
_TONES = {
    "good": "ready finished succeeded success active published complete completed live ok passed "
    "delivered",
    "bad": "failed error dead revoked silent blocked",
    "busy": "working running building extracting embedding indexing switching processing",
    "waiting": "queued waiting pending retrying paused",
    "quiet": "cancelled expired deleted superseded abandoned rolled_back reclaimed deleting",
}
_TONE_OF = {state: tone for tone, states in _TONES.items() for state in states.split()}


def when(moment: datetime | None, now: datetime | None = None) -> SafeString:
    """Show a relative time; hovering shows the exact one."""
    if moment is None:
        return NOTHING_SHOWN
    moment = moment.astimezone(timezone.get_current_timezone())
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        moment.isoformat(),
        exact_time(moment),
        relative_time(moment, now or timezone.now()),
    )


def badge(state: Any, label: str = "") -> SafeString:
    """Show a state as a coloured label. `label` replaces the state's own name."""
    name = str(state)
    tone = _TONE_OF.get(name.lower().replace(" ", "_"), "plain")
    shown = label or name.replace("_", " ")
    return format_html('<span class="badge badge-{}">{}</span>', tone, shown)


def toned_badge(tone: str, label: str) -> SafeString:
    """Show a label in one of these tones: good, bad, busy, waiting, quiet or plain."""
    return format_html('<span class="badge badge-{}">{}</span>', tone, label)


def short_id(value: Any) -> SafeString:
    """Show the beginning of an id; hovering shows all of it."""
    text = str(value)
    return format_html('<code class="short-id" title="{}">{}</code>', text, text[:SHORT_ID])


def score_bar(value: float | None, maximum: float = 1.0) -> SafeString:
    """Show a score as a bar with its number."""
    if value is None:
        return NOTHING_SHOWN
    return format_html(
        '<span class="score"><meter min="0" max="{0}" value="{1}" aria-hidden="true"></meter> '
        "<span>{2}</span></span>",
        maximum,
        min(max(value, 0.0), maximum),
        f"{value:.3f}",
    )


def progress_bar(done: int, total: int, label: str = "") -> SafeString:
    """Show progress as a bar with `3 of 10`, or the label, next to it."""
    return format_html(
        '<span class="progress"><progress max="{}" value="{}" aria-label="progress"></progress> '
        "<span>{}</span></span>",
        total or 1,
        done,
        label or f"{done:,} of {total:,}",
    )
