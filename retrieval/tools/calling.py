"""Run a tool for a caller: check limit, scope and arguments, and use the cache if possible."""

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from rest_framework.exceptions import ValidationError

from ragsite.access.auth import count_call, insufficient_scope
from ragsite.access.rate_limits import Admission
from ragsite.database.tenancy import query_in_namespace
from ragsite.platform.errors import flat_errors
from ragsite.platform.logs import request_id
from ragsite.web.rendering import QuickJSONRenderer
from retrieval.cache.fingerprints import fingerprint
from retrieval.cache.results import get_or_compute

from .arguments import checked
from .base import InvalidArguments, Result, Tool, ToolContext
from .registry import TOOLS, find_tool

logger = logging.getLogger(__name__)

RATE_CLASS = "agent"

# A row's position and the transaction that wrote it change with every change of the row: of content
# (the revision) and of the answer settings. Queued documents are not content yet, but every change
# of a document's status begins with a new job.
_STATE = """
    SELECT namespace.ctid::text || namespace.xmin::text || profile.ctid::text || profile.xmin::text
               AS written,
           (SELECT max(created_at)::text FROM documents_ingestjob
            WHERE namespace_id = namespace.id) AS newest_job,
           EXISTS (SELECT FROM documents_ingestjob
                   WHERE namespace_id = namespace.id AND state IN ('queued', 'running'))
               AS has_open_jobs
    FROM documents_namespace namespace
    JOIN documents_indexprofile profile ON profile.id = namespace.active_profile_id
    WHERE namespace.id = %(namespace)s
"""


@dataclass(frozen=True, slots=True)
class ToolResult:
    name: str
    result: Result  # plain JSON data
    cached: bool
    latency_ms: float
    admission: Admission | None  # remaining calls of the key; None: no limit


def call_tool(
    context: ToolContext, name: str, arguments: Any, *, tools: Mapping[str, Tool] = TOOLS
) -> ToolResult:
    """Run a tool. Raises ApiError: rate_limited, unknown_tool, insufficient_scope,
    invalid_arguments, or the error of the tool itself. Call it outside of transactions."""
    started = time.monotonic()
    with request_id(context.request_id):
        admission = count_call(context.key_id, context.namespace_id, rate_class=RATE_CLASS)
        tool = find_tool(name, tools)
        if not context.may(tool.scope):
            raise insufficient_scope(tool.scope)
        result, cached = _kept_or_run(context, tool, checked(tool, arguments))
        latency_ms = round((time.monotonic() - started) * 1000, 1)
        logger.info("tool.called", extra={"tool": name, "cached": cached, "ms": latency_ms})
    return ToolResult(name, result, cached, latency_ms, admission)


def _kept_or_run(
    context: ToolContext, tool: Tool, arguments: dict[str, Any]
) -> tuple[Result, bool]:
    state = _state(context, tool) if tool.is_read_only else None
    if state is None:
        return json.loads(_run(context, tool, arguments)), False
    described = fingerprint(state, tool.name, arguments, context.scopes, context.base_url)
    kept, outcome = get_or_compute(
        "results",
        f"tool:{context.namespace_id}:{described}",
        settings.CACHE_SECONDS["tools"],
        lambda: _run(context, tool, arguments),
        cacheable=lambda text: not json.loads(text).get("fallbacks"),
    )
    return json.loads(kept), outcome == "hit"


def _state(context: ToolContext, tool: Tool) -> tuple[Any, ...] | None:
    """Return what a result depends on besides its arguments; None if it must not be cached."""
    if tool.freshness == "never":
        return None
    found = query_in_namespace(context.namespace_id, _STATE, {"namespace": context.namespace_id})
    written, newest_job, has_open_jobs = found[0]
    if tool.freshness == "content":
        return (written,)
    return None if has_open_jobs else (written, newest_job)


def _run(context: ToolContext, tool: Tool, arguments: dict[str, Any]) -> str:
    """Encode the result as JSON for the cache, which never pickles."""
    try:
        result = tool.run(context, arguments)
    except ValidationError as error:  # a rule that a schema cannot express
        raise InvalidArguments(
            [(wrong["field"], wrong["message"]) for wrong in flat_errors(error)]
        ) from None
    return QuickJSONRenderer().render(result).decode()
