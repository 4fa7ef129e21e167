"""Facts with their validity, actions that ask for confirmation, and the history of a subject."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.db.models.functions import Substr
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from documents.memory import correcting, writing
from documents.memory.rules.rendering import object_text
from documents.models import DocumentVersion, Fact
from ragsite.platform.errors import ApiError
from ragsite.platform.wording import plural
from ragsite.web.markup import NOTHING, NOTHING_SHOWN, toned_badge, when

from ..confirmation import confirm_first
from ..readonly import ReadOnlyAdmin
from .stating import FactForm

AT_ONCE = 500  # maximum number of facts that one action handles within its request
MAX_HISTORY = 100
QUOTED = 1000  # characters
STATES = ("held", "ended", "future", "retracted")  # of approved facts
PROPOSED, REJECTED = Fact.Status.PROPOSED, Fact.Status.REJECTED
_TONES = {
    "held": "good",
    "ended": "quiet",
    "future": "quiet",
    "retracted": "bad",
    "proposed": "waiting",
}


def _length(fact: Fact) -> int:
    return (fact.end or 0) - (fact.start or 0)


def state_of(fact: Fact) -> str:
    if fact.status != Fact.Status.APPROVED:
        return str(fact.status)
    if fact.retracted_at is not None:
        return "retracted"
    now = timezone.now()
    if fact.valid_to is not None and fact.valid_to <= now:
        return "ended"
    return "future" if fact.valid_from is not None and fact.valid_from > now else "held"


def _in_state(state: str) -> Q:
    now = timezone.now()
    return {
        "retracted": Q(retracted_at__isnull=False),
        "ended": Q(retracted_at=None, valid_to__lte=now),
        "future": Q(retracted_at=None, valid_from__gt=now),
        "held": Q(retracted_at=None)
        & (Q(valid_from=None) | Q(valid_from__lte=now))
        & (Q(valid_to=None) | Q(valid_to__gt=now)),
    }[state]


class StateFilter(admin.SimpleListFilter):
    """Filter by the state that the list's column shows."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        states = (*STATES, *map(str, (PROPOSED, REJECTED)))
        return [(state, state.capitalize()) for state in states]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Fact]) -> QuerySet[Fact]:
        state = self.value()
        if state in (PROPOSED, REJECTED):
            return queryset.filter(status=state)
        if state in STATES:
            return queryset.filter(_in_state(state), status=Fact.Status.APPROVED)
        return queryset


@admin.register(Fact)
class FactAdmin(ReadOnlyAdmin):
    list_display = (
        "statement",
        "shown_state",
        "certainty",
        "validity",
        "verified",
        "source",
        "user",
        "namespace",
    )
    list_display_links = ("statement",)
    list_filter = (
        StateFilter,
        "source",
        "namespace",
    )
    list_select_related = ("namespace",)
    ordering = ("-recorded_at", "id")
    search_fields = ("subject", "predicate", "object", "=user", "=document__id")
    search_help_text = "Subject, predicate, object, user, or a document's id"
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "shown_state",
                    "subject",
                    "predicate",
                    "said",
                    "certainty",
                    "confirmations",
                    "tags",
                    "namespace",
                    "user",
                )
            },
        ),
        (
            "Validity",
            {
                "fields": (
                    "valid_from",
                    "valid_to",
                    "recorded_at",
                    "last_verified_at",
                    "retracted_at",
                    "superseded_by",
                    "history",
                )
            },
        ),
        ("Source", {"fields": ("source", "source_uri", "place", "provenances")}),
    )
    readonly_fields = (
        "shown_state",
        "said",
        "recorded_at",
        "last_verified_at",
        "place",
        "provenances",
        "history",
    )
    actions = ("approve", "reject", "retract")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Fact]:
        return super().get_queryset(request).defer("words")

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return self._is_open(request) and self.has_operate_permission(request)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        if obj is None:
            kwargs["form"], kwargs["fields"] = FactForm, FactForm.Meta.fields
        return super().get_form(request, obj, change=change, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None:
            return [(None, {"fields": ("namespace", *FactForm.declared_fields)})]
        return super().get_fieldsets(request, obj)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return super().get_readonly_fields(request, obj) if obj else ()

    def save_model(self, request: HttpRequest, obj: Fact, form: FactForm, change: bool) -> None:
        """The form has stated it already."""
        obj.pk = form.outcome.fact_id
        fields = form.cleaned_data
        obj.subject, obj.predicate, obj.object = (
            fields[name] for name in ("subject", "predicate", "value")
        )
        if form.outcome.what == "confirmed":
            messages.info(request, "It is held already, and is confirmed now.")
        if form.outcome.closed:
            messages.info(request, f"{plural(len(form.outcome.closed), 'fact')} closed by it.")

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        return lookup == "document__id__exact" or super().lookup_allowed(lookup, value, request)

    @admin.display(description="fact", ordering="subject")
    def statement(self, fact: Fact) -> str:
        return f"{fact.subject} · {fact.predicate} · {object_text(fact.object)[:120]}"

    @admin.display(description="state", ordering="status")
    def shown_state(self, fact: Fact) -> SafeString:
        state = state_of(fact)
        return toned_badge(_TONES.get(state, "plain"), state)

    @admin.display(description="holds", ordering="valid_from")
    def validity(self, fact: Fact) -> str:
        begins = f"{fact.valid_from:%Y-%m-%d}" if fact.valid_from else ""
        ends = f"{fact.valid_to:%Y-%m-%d}" if fact.valid_to else ""
        return f"{begins} – {ends}".strip() if begins or ends else "always"

    @admin.display(description="verified", ordering="last_verified_at")
    def verified(self, fact: Fact) -> SafeString:
        return when(fact.last_verified_at)

    @admin.display(description="object")
    def said(self, fact: Fact) -> str:
        return object_text(fact.object)

    @admin.display(description="place")
    def place(self, fact: Fact) -> SafeString:
        """Show the document it was extracted from, with the words that state it."""
        if fact.document is None or fact.version_id is None:
            return NOTHING_SHOWN
        words = DocumentVersion.objects.filter(pk=fact.version_id).values_list(
            "number", Substr("text", (fact.start or 0) + 1, min(_length(fact), QUOTED))
        )
        number, quote = words.first() or (fact.document.live_version, "")
        return format_html(
            '<a href="{}?from={}">{}</a>, version {}<blockquote>{}</blockquote>',
            reverse("admin:documents_document_change", args=[fact.document_id]),
            fact.start or 0,
            fact.document,
            number,
            quote,
        )

    @admin.display
    def provenances(self, fact: Fact) -> SafeString:
        rows = fact.statements.order_by("-stated_at")[:MAX_HISTORY]
        lines = (
            (row.kind, row.source_uri or NOTHING, when(row.stated_at), row.certainty)
            for row in rows
        )
        listed = format_html_join("", "<li>{}: {}, {}, certainty {}</li>", lines)
        return format_html("<ul>{}</ul>", listed) if listed else format_html("{}", NOTHING)

    @admin.display(description="of this subject and predicate")
    def history(self, fact: Fact) -> SafeString:
        """Show all facts with this subject and predicate, in order of validity."""
        same = Fact.objects.filter(
            namespace=fact.namespace_id,
            user=fact.user,
            subject_key=fact.subject_key,
            predicate_key=fact.predicate_key,
        ).defer("words")
        lines = (
            (
                reverse("admin:documents_fact_change", args=[one.pk]),
                object_text(one.object)[:120],
                self.validity(one),
                self.shown_state(one),
            )
            for one in same.order_by("valid_from", "recorded_at")[:MAX_HISTORY]
        )
        listed = format_html_join("", '<li><a href="{}">{}</a> {} {}</li>', lines)
        return format_html("<ol>{}</ol>", listed)

    @admin.action(description="Approve proposals", permissions=["operate"])
    @confirm_first(
        "Approve {rows}?",
        noun="proposal",
        consequence="They become facts as of now. They may confirm or close existing facts.",
    )
    def approve(self, request: HttpRequest, queryset: QuerySet[Fact]) -> None:
        self._act(request, queryset, writing.approve, "approved")

    @admin.action(description="Reject proposals", permissions=["operate"])
    @confirm_first(
        "Reject {rows}?", noun="proposal", consequence="They stay in the list as rejected."
    )
    def reject(self, request: HttpRequest, queryset: QuerySet[Fact]) -> None:
        self._act(request, queryset, writing.reject, "rejected")

    @admin.action(description="Retract facts", permissions=["operate"])
    @confirm_first(
        "Retract {rows}?",
        noun="fact",
        consequence="They are no longer found, but stay in the history. Facts that they had "
        "closed continue.",
    )
    def retract(self, request: HttpRequest, queryset: QuerySet[Fact]) -> None:
        self._act(request, queryset, correcting.retract, "retracted")

    def _act(
        self,
        request: HttpRequest,
        queryset: QuerySet[Fact],
        act: Callable[[UUID, UUID], Any],
        done: str,
    ) -> None:
        ids = list(queryset.order_by("pk").values_list("namespace_id", "pk")[: AT_ONCE + 1])
        if len(ids) > AT_ONCE:
            messages.error(request, f"At most {AT_ONCE} at once. Use a filter to select fewer.")
            return
        count, refused = 0, ""
        for namespace_id, pk in ids:
            try:
                act(namespace_id, pk)
                count += 1
            except ApiError as error:  # in another state, or changed in the meantime
                refused = str(error)
            except Fact.DoesNotExist:
                refused = "The fact was erased meanwhile."
        if count:
            messages.success(request, f"{plural(count, 'fact')} {done}.")
        if refused:
            messages.warning(request, f"{len(ids) - count} not {done}: {refused}")
