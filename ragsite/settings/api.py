"""Settings of Django REST framework and of the OpenAPI schema; none depends on the environment."""

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["ragsite.access.auth.ApiKeyAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["ragsite.access.auth.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["ragsite.web.rendering.QuickJSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["ragsite.web.parsing.ShallowJSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "ragsite.platform.errors.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "UNICODE_JSON": True,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Ragsite",
    "DESCRIPTION": "Documents in, cited passages out. Every call carries "
    "`Authorization: Bearer <key>`; the key decides the namespace.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PUBLIC": True,
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "retrieval.api.filter_schema.declare_filters",
        "ragsite.web.openapi.declare_texts",
        "ragsite.web.openapi.declare_rules",
        "ragsite.web.openapi.declare_errors",
        "ragsite.web.openapi.declare_summaries",
    ],
    "ENUM_NAME_OVERRIDES": {
        "ActorKind": "documents.models.AuditEvent.ActorKind",
        "ChunkingMethod": "documents.chunking.methods.SIZES",
        "DocumentStatus": "documents.models.Document.Status",
        "KindEnum": "documents.models.Chunk.Kind",
        "JobState": "documents.models.IngestJob.State",
        "WebhookDeliveryState": "documents.models.WebhookDelivery.State",
        "WebhookStatus": "documents.models.WebhookEndpoint.Status",
        "VersionState": "documents.models.DocumentVersion.State",
    },
}
