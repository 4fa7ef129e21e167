"""Rules of predicates and aliases, which decide how statements are combined; receipts of
erasures."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from documents.memory import rewriting
from documents.models import FactAlias, FactErasure, PredicateRule
from ragsite.platform.errors import ApiError

from ..audited import Audited
from ..readonly import ReadOnlyAdmin
from ..titles import Titled


class PredicateRuleForm(forms.ModelForm):
    class Meta:
        model = PredicateRule
        fields = ("namespace", "predicate", "is_single", "half_life_days")


class FactAliasForm(forms.ModelForm):
    class Meta:
        model = FactAlias
        fields = ("namespace", "kind", "alias", "name")

    def clean(self) -> dict[str, Any]:
        """Facts are derived again at once, which a form cannot undo."""
        fields = super().clean() or self.cleaned_data
        if self.errors:
            return fields
        try:
            self.made = rewriting.set_alias(
                fields["namespace"].pk,
                kind=fields["kind"],
                alias=fields["alias"],
                name=fields["name"],
            )
        except ApiError as error:
            raise forms.ValidationError(str(error)) from None
        return fields


class _Rewritten(Audited, Titled, admin.ModelAdmin):
    """Rows that the pipeline writes, because facts are derived from them."""

    audits_additions = False  # the pipeline records it
    list_filter = ("namespace",)
    list_select_related = ("namespace",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # add it again instead: it replaces the previous one

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)


@admin.register(PredicateRule)
class PredicateRuleAdmin(_Rewritten):
    form = PredicateRuleForm
    list_display = ("predicate", "is_single", "half_life_days", "namespace")
    search_fields = ("predicate",)
    search_help_text = "Predicate"

    def save_model(self, request: HttpRequest, obj: PredicateRule, form: Any, change: bool) -> None:
        made = rewriting.set_rule(
            obj.namespace_id,
            predicate=obj.predicate,
            is_single=obj.is_single,
            half_life_days=obj.half_life_days,
        )
        obj.pk = made.pk

    def delete_model(self, request: HttpRequest, obj: PredicateRule) -> None:
        rewriting.remove_rule(obj.namespace_id, obj.pk)


@admin.register(FactAlias)
class FactAliasAdmin(_Rewritten):
    form = FactAliasForm
    list_display = ("alias", "name", "kind", "namespace")
    search_fields = ("alias", "name")
    search_help_text = "Alias or name"

    def save_model(self, request: HttpRequest, obj: FactAlias, form: Any, change: bool) -> None:
        obj.pk = form.made.pk

    def delete_model(self, request: HttpRequest, obj: FactAlias) -> None:
        rewriting.remove_alias(obj.namespace_id, obj.pk)


@admin.register(FactErasure)
class FactErasureAdmin(ReadOnlyAdmin):
    list_display = (
        "created_at",
        "namespace",
        "selected_by",
        "facts",
        "statements",
        "vectors",
        "queries",
    )
    list_filter = ("selected_by", "namespace")
    list_select_related = ("namespace",)
