"""The JSON form of requests and responses of /answer."""

from typing import Any

from django.conf import settings
from rest_framework import serializers

from documents.api.fields import NamedChoiceField
from documents.api.serializers import SpanSerializer, StrictSerializer
from documents.language_models.base import Message
from ragsite.platform.errors import ApiError
from retrieval.answering.requests import AnswerRequest
from retrieval.api.hit_shapes import FACT, OF_PASSAGES, FactNoteSerializer
from retrieval.api.serializers import (
    MAX_QUERY_LENGTH,
    DiagnosticsSerializer,
    QuerySerializer,
    search_request,
)

MAX_MESSAGES = 50
MAX_MESSAGE = 16_000  # characters
MAX_CONVERSATION = 100_000  # characters, of all messages together
MAX_INSTRUCTIONS = 4000
MAX_STOPS = 4
EXPANSIONS = ["none", "multi-query", "hyde", "step-back"]
ANSWER_FIELDS = ("model", "temperature", "max_tokens", "instructions", "verify", "expand_query")


class MessageSerializer(StrictSerializer):
    role = NamedChoiceField(choices=["user", "assistant"])
    content = serializers.CharField(max_length=MAX_MESSAGE)


class AnswerRequestSerializer(QuerySerializer):
    schema_rules = {"anyOf": [{"required": ["query"]}, {"required": ["messages"]}]}

    query = serializers.CharField(
        max_length=MAX_QUERY_LENGTH,
        required=False,
        help_text="The question. May be omitted if the last of `messages` is the user's.",
    )
    messages = MessageSerializer(  # type: ignore[call-arg]  # of the list
        many=True,
        required=False,
        max_length=MAX_MESSAGES,
        help_text="The conversation so far, oldest first. A follow-up question is made standalone "
        f"before it is searched for. At most {MAX_CONVERSATION:,} characters together.",
    )
    stream = serializers.BooleanField(
        default=False, help_text="Answer with server-sent events (`text/event-stream`)."
    )
    model = serializers.CharField(
        max_length=200,
        default="",
        allow_blank=True,
        help_text="An alias of the installation's language models; `extractive` needs none. "
        "Default: the namespace's, else the installation's.",
    )
    temperature = serializers.FloatField(
        default=None,
        allow_null=True,
        min_value=0,
        max_value=2,
        help_text="null: the model's default.",
    )
    max_tokens = serializers.IntegerField(
        default=None, allow_null=True, min_value=1, max_value=100_000
    )
    stop = serializers.ListField(
        child=serializers.CharField(max_length=100, trim_whitespace=False),
        required=False,
        max_length=MAX_STOPS,
        help_text="Strings at which the model stops.",
    )
    instructions = serializers.CharField(
        max_length=MAX_INSTRUCTIONS,
        default="",
        allow_blank=True,
        help_text="Style or form, such as `Answer in one sentence`. Cannot override the rules "
        "for answers.",
    )
    verify = serializers.BooleanField(
        default=False, help_text="Let the configured verifier check each citation afterwards."
    )
    expand_query = NamedChoiceField(
        choices=EXPANSIONS,
        default="none",
        help_text="Let the language model rephrase the question for the search.",
    )

    def validate(self, fields: dict[str, Any]) -> dict[str, Any]:
        messages = fields.get("messages", [])
        if sum(len(message["content"]) for message in messages) > MAX_CONVERSATION:
            raise _wrong("messages", f"At most {MAX_CONVERSATION:,} characters together.")
        if "query" in fields:
            return fields
        if not messages or messages[-1]["role"] != "user":
            raise _wrong("query", "Send a query, or messages whose last one is the user's.")
        if len(messages[-1]["content"]) > MAX_QUERY_LENGTH:
            raise _wrong(
                "messages",
                f"The last message is the question: at most {MAX_QUERY_LENGTH} characters.",
            )
        return {**fields, "query": messages[-1]["content"]}


def _wrong(field: str, message: str) -> serializers.ValidationError:
    return serializers.ValidationError({field: message})


# Shared, as in serializers.py.
_REQUEST = AnswerRequestSerializer()


def answer_request_of(data: Any) -> tuple[AnswerRequest, bool]:
    """Return the request, and whether to stream. Raises ValidationError or ApiError."""
    fields = dict(_REQUEST.run_validation(data))
    is_stream = fields.pop("stream")
    messages = tuple(Message(**message) for message in fields.pop("messages", ()))
    stop = tuple(fields.pop("stop", ()))
    options = {name: fields.pop(name) for name in ANSWER_FIELDS}
    require_model(options["model"])
    search = search_request(fields)
    if messages and messages[-1] == Message("user", search.query):
        messages = messages[:-1]  # the question itself
    request = AnswerRequest(
        search=search, messages=messages, stop=stop, raw_filters=data.get("filters"), **options
    )
    return request, is_stream


def require_model(alias: str) -> None:
    if alias and alias not in settings.LANGUAGE_MODELS:
        available = sorted(settings.LANGUAGE_MODELS)
        raise ApiError(
            "model_not_configured",
            f"There is no model {alias!r} here. Use one of: {', '.join(available)}.",
            http_status=422,
            details={"available": available},
        )


class AnswerCitationSerializer(serializers.Serializer):
    """`cited_text` equals the text of the document's version (`GET /documents/{id}/text`) from
    `start_char_index` to `end_char_index`. All offsets count code points."""

    type = serializers.ChoiceField(choices=["char_location"])
    id = serializers.CharField(help_text="The id in the marker [cite:ID], and in `sources`.")
    cited_text = serializers.CharField()
    document_index = serializers.IntegerField(
        allow_null=True, help_text="Index in `sources`, from 0."
    )
    document_title = serializers.CharField()
    start_char_index = serializers.IntegerField(help_text="Index of the first code point.")
    end_char_index = serializers.IntegerField(help_text="Index after the last code point.")
    start_page_number = serializers.IntegerField(
        allow_null=True, help_text="Counted from 1; null without pages."
    )
    end_page_number = serializers.IntegerField(
        allow_null=True, help_text="The page after the last one, as in Anthropic's page_location."
    )
    document_id = serializers.UUIDField(allow_null=True, help_text=OF_PASSAGES)
    document_version = serializers.IntegerField(allow_null=True, help_text=OF_PASSAGES)
    chunk_id = serializers.UUIDField(allow_null=True, help_text=OF_PASSAGES)
    fact = FactNoteSerializer(allow_null=True, help_text=FACT)
    section = serializers.CharField()
    source_uri = serializers.CharField()
    checksum = serializers.CharField(help_text="SHA-256 of `cited_text` in UTF-8.")
    answer_span = SpanSerializer(
        help_text="The claim before the marker that it supports, in code points of `answer`."
    )
    is_quote = serializers.BooleanField(
        help_text="The answer quotes `cited_text` in quotation marks."
    )
    supported = serializers.BooleanField(
        allow_null=True, help_text="The verifier's judgement; null without a verifier."
    )


class SourceSerializer(serializers.Serializer):
    id = serializers.CharField(
        help_text="The id in the marker [cite:ID]. Valid only in this answer."
    )
    document_id = serializers.UUIDField(allow_null=True, help_text=OF_PASSAGES)
    document_version = serializers.IntegerField(allow_null=True, help_text=OF_PASSAGES)
    chunk_id = serializers.UUIDField(allow_null=True, help_text=OF_PASSAGES)
    fact = FactNoteSerializer(allow_null=True, help_text=FACT)
    title = serializers.CharField()
    source_uri = serializers.CharField()
    section = serializers.CharField()
    page = serializers.IntegerField(allow_null=True)
    page_end = serializers.IntegerField(allow_null=True, help_text="The last page (inclusive).")
    span = SpanSerializer()
    content = serializers.CharField(help_text="The passage.")
    checksum = serializers.CharField(help_text="SHA-256 of the passage.")
    relevance = serializers.FloatField(allow_null=True)
    kind = serializers.CharField()
    as_of = serializers.DateTimeField(
        allow_null=True, help_text="The date in the document's metadata."
    )
    cited = serializers.BooleanField(
        allow_null=True, help_text="null in the event `sources`, when it is not known yet."
    )


class AnswerSentenceSerializer(serializers.Serializer):
    start = serializers.IntegerField(help_text="Position in `answer`, in code points.")
    end = serializers.IntegerField()
    citation_ids = serializers.ListField(child=serializers.CharField())
    support = serializers.FloatField(
        allow_null=True,
        help_text="0…1: similarity of words and meaning to the cited text. A weak indicator of "
        "truth.",
    )


class StatedValueSerializer(serializers.Serializer):
    text = serializers.CharField()
    source_id = serializers.CharField()
    document_id = serializers.UUIDField(allow_null=True)
    span = SpanSerializer()
    as_of = serializers.DateTimeField(allow_null=True)


class UncertaintySerializer(serializers.Serializer):
    kind = serializers.CharField(
        help_text="`conflict`: passages disagree about a value. `unsupported_value`: a number or "
        "date in the answer is in none of the passages it cites. `quote_removed`: a quote that "
        "is in no passage. `uncited`: a sentence without a citation."
    )
    message = serializers.CharField()
    values = StatedValueSerializer(many=True)
    answer_span = SpanSerializer(allow_null=True, help_text="Position in `answer`, in code points.")


class AnswerUsageSerializer(serializers.Serializer):
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()
    is_estimated = serializers.BooleanField(help_text="Whether the provider reported no figures.")
    cost = serializers.FloatField(allow_null=True, help_text="null without a price.")


class ChecksSerializer(serializers.Serializer):
    unknown_ids = serializers.IntegerField(
        help_text="Markers dropped because they name no passage."
    )
    malformed_markers = serializers.IntegerField()
    quotes_exact = serializers.IntegerField()
    quotes_repaired = serializers.IntegerField(
        help_text="Quotes replaced by the closest exact text."
    )
    quotes_removed = serializers.IntegerField(
        help_text="Quotes with no similar text in the passages."
    )
    is_cut_off = serializers.BooleanField(
        help_text="Whether the answer was cut at the maximum length."
    )


class AnswerDiagnosticsSerializer(serializers.Serializer):
    searches = serializers.ListField(
        child=serializers.CharField(), help_text="The searches, in order."
    )
    fallbacks = serializers.ListField(child=serializers.CharField())
    notes = serializers.ListField(child=serializers.CharField())
    finish = serializers.CharField(help_text="`stop`, `length`, `refused` or `unknown`.")
    times_ms = serializers.DictField(child=serializers.FloatField())
    checks = ChecksSerializer()
    cache = serializers.CharField(help_text="Whether the search came from the cache.")
    search = DiagnosticsSerializer(
        allow_null=True, help_text="Timings of the search that was used."
    )


class VerificationSerializer(serializers.Serializer):
    citation_recall = serializers.FloatField(allow_null=True)
    citation_precision = serializers.FloatField(allow_null=True)
    verifier = serializers.CharField()


class AnswerSerializer(serializers.Serializer):
    query_id = serializers.UUIDField(
        allow_null=True, help_text="Id for `POST /feedback`; null without a query log."
    )
    query = serializers.CharField(help_text="The question as asked.")
    question = serializers.CharField(help_text="The standalone question that was searched for.")
    answer = serializers.CharField(
        help_text="With markers [cite:ID] after each claim. All spans of the answer count its "
        "code points, markers included."
    )
    is_answered = serializers.BooleanField(
        help_text="false: there was not enough information, and `answer` says so."
    )
    grounded = serializers.BooleanField(
        help_text="Whether every sentence has a citation, every quote is exact, and every number "
        "and date is in the cited passages."
    )
    missing = serializers.CharField(help_text="What information is missing; blank if answered.")
    relevance = serializers.FloatField(
        allow_null=True, help_text="The relevance of the best passage."
    )
    citations = AnswerCitationSerializer(many=True)
    sources = SourceSerializer(many=True)
    sentences = AnswerSentenceSerializer(many=True)
    uncertainties = UncertaintySerializer(many=True)
    model = serializers.CharField(help_text="The writer; `none` if no writer was called.")
    usage = AnswerUsageSerializer()
    verification = VerificationSerializer(required=False, help_text="With `verify`.")
    diagnostics = AnswerDiagnosticsSerializer()


class PromptMessageSerializer(serializers.Serializer):
    role = serializers.CharField()
    content = serializers.CharField()


class PromptSerializer(serializers.Serializer):
    model = serializers.CharField()
    messages = PromptMessageSerializer(
        many=True, help_text="Empty for a writer without a prompt (`extractive`)."
    )
    sources = SourceSerializer(many=True)
    tokens = serializers.IntegerField(help_text="A conservative estimate.")
    template = serializers.CharField(help_text="The template file; blank without a prompt.")
