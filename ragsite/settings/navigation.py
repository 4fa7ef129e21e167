"""The admin's menu, in the words of its users; independent of the environment.

An entry is a model, as `app.Model`, or a page without a model: its title and the name of its URL.
Pages without a model's permission are shown to all who may open the admin. Models that are not
listed here come last, under "More".
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
