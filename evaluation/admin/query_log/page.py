"""The page of one logged question: the results, and possible actions."""

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from evaluation.admin.playground.view import address_of
from evaluation.admin.stages import in_pipeline_order
from evaluation.models import Feedback, GoldenSet
from retrieval.models import QueryLog

from .returned import returned_by


def context_of(line: QueryLog) -> dict[str, Any]:
    times = dict(line.times_ms)
    return {
        "title": f"“{line.query[:80]}”",
        "returned": returned_by(line),
        "times": in_pipeline_order(times),
        "options": [(k, v) for k, v in line.options.items() if k != "changed"]
        + list(line.options.get("changed", {}).items()),
        "feedback": Feedback.objects.filter(query_log=line.pk),
        **actions_of(line),
    }


def actions_of(line: QueryLog) -> dict[str, Any]:
    """Return links to the playground and to judging, for this question."""
    question = {"q": line.query}
    return {
        "playground": address_of(line.namespace.slug, line.query),
        "judging": [
            (
                golden_set.name,
                f"{reverse('admin:evaluation_goldenset_judge', args=[golden_set.pk])}"
                f"?{urlencode(question)}",
            )
            for golden_set in GoldenSet.objects.filter(namespace=line.namespace_id)
        ],
    }
