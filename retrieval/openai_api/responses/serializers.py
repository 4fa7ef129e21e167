"""The shape of a response, for the OpenAPI schema."""

from rest_framework import serializers

from retrieval.openai_api.chat.shapes import PlaceSerializer


class ResponseAnnotationSerializer(PlaceSerializer):
    """`file_citation` or `url_citation`: each citation comes as both."""

    type = serializers.ChoiceField(choices=["file_citation", "url_citation"])
    url = serializers.CharField(help_text="Opens the document's page at the highlighted quote.")
    index = serializers.IntegerField(required=False, help_text="Of `file_citation`.")
    file_id = serializers.CharField(required=False)
    filename = serializers.CharField(required=False)
    title = serializers.CharField(required=False, help_text="Of `url_citation`.")
    start_index = serializers.IntegerField(required=False)
    end_index = serializers.IntegerField(required=False)


class OutputTextSerializer(serializers.Serializer):
    type = serializers.CharField(help_text="Always `output_text`.")
    text = serializers.CharField(help_text="With numbers `[1]` after each cited claim.")
    annotations = ResponseAnnotationSerializer(many=True)
    logprobs = serializers.ListField(child=serializers.JSONField())


class OutputItemSerializer(serializers.Serializer):
    """A `message`, and before it a `file_search_call` if that tool was given."""

    id = serializers.CharField()
    type = serializers.ChoiceField(choices=["file_search_call", "message"])
    status = serializers.CharField()
    role = serializers.CharField(required=False, help_text="Always `assistant`.")
    content = OutputTextSerializer(many=True, required=False)
    queries = serializers.ListField(child=serializers.CharField(), required=False)
    results = serializers.ListField(
        child=serializers.JSONField(),
        required=False,
        allow_null=True,
        help_text="With `include: [file_search_call.results]`.",
    )


class ResponseUsageSerializer(serializers.Serializer):
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()


class ResponseSerializer(serializers.Serializer):
    """Further fields repeat the request, as OpenAI's do."""

    id = serializers.CharField()
    object = serializers.CharField(help_text="Always `response`.")
    created_at = serializers.IntegerField()
    status = serializers.ChoiceField(choices=["completed", "incomplete"])
    incomplete_details = serializers.JSONField(allow_null=True)
    error = serializers.JSONField(allow_null=True)
    model = serializers.CharField()
    output = OutputItemSerializer(many=True)
    usage = ResponseUsageSerializer(help_text="0 if no language model was called.")
