"""The admin's menu, in the words of its users; none of it depends on the environment.

An entry is a model, as `app.Model`, or a page of its own: its title and the name of its URL. Pages
without a model's permission to hide behind are shown to all who may open the admin. Models that
are not named here come last, under "More".
"""

Entry = str | tuple[str, str]

ADMIN_NAVIGATION: tuple[tuple[str, tuple[Entry, ...]], ...] = (
    (
        "Content",
        (
            "documents.Document",
            "documents.Chunk",
            "documents.Collection",
            "documents.CollectionDocument",
        ),
    ),
    (
        "Memory",
        (
            "documents.Fact",
            "documents.PredicateRule",
            "documents.FactAlias",
            "documents.FactErasure",
        ),
    ),
    ("Indexing", ("documents.IngestJob", "documents.IndexProfile", "documents.Reindex")),
    (
        "Questions",
        (
            ("Playground", "admin:playground"),
            ("Analytics", "admin:analytics"),
            "retrieval.QueryLog",
            "evaluation.Feedback",
        ),
    ),
    ("Quality", ("evaluation.GoldenSet", "evaluation.GoldenQuery", "evaluation.EvaluationRun")),
    ("Access", ("documents.Namespace", "documents.ApiKey", "documents.OperatorKey")),
    ("Webhooks", ("documents.WebhookEndpoint", "documents.WebhookDelivery")),
    ("People", ("auth.User", "auth.Group")),
    (
        "Records",
        (
            "documents.AuditEvent",
            "documents.DocumentRemoval",
            "documents.NamespaceRemoval",
            "documents.EmbeddingUsage",
            "documents.LanguageModelUsage",
        ),
    ),
)
