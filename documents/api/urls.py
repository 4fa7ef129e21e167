from django.urls import path

from . import (
    audit,
    collections,
    documents,
    events,
    jobs,
    namespaces,
    profiles,
    usage,
    webhooks,
)
from .facts import listing
from .ingest import views
from .memories import views as memories

urlpatterns = [
    path("ingest", views.IngestView.as_view(), name="ingest"),
    path("documents", documents.DocumentListView.as_view(), name="documents"),
    path("documents/<uuid:pk>", documents.DocumentView.as_view(), name="document"),
    path("documents/<uuid:pk>/chunks", documents.ChunkListView.as_view(), name="document-chunks"),
    path("documents/<uuid:pk>/text", documents.TextView.as_view(), name="document-text"),
    path(
        "documents/<uuid:pk>/original", documents.OriginalView.as_view(), name="document-original"
    ),
    path(
        "documents/<uuid:pk>/versions",
        documents.VersionListView.as_view(),
        name="document-versions",
    ),
    path(
        "documents/<uuid:pk>/reindex",
        documents.DocumentReindexView.as_view(),
        name="document-reindex",
    ),
    path("collections", collections.CollectionListView.as_view(), name="collections"),
    path("collections/<uuid:pk>", collections.CollectionView.as_view(), name="collection"),
    path(
        "collections/<uuid:pk>/documents",
        collections.CollectionDocumentListView.as_view(),
        name="collection-documents",
    ),
    path(
        "collections/<uuid:pk>/documents/<uuid:document_id>",
        collections.CollectionDocumentView.as_view(),
        name="collection-document",
    ),
    path("memories", memories.MemoryListView.as_view(), name="memories"),
    path(
        "memories/conversations",
        memories.ConversationListView.as_view(),
        name="memory-conversations",
    ),
    path("memories/<uuid:pk>", memories.TurnView.as_view(), name="memory"),
    path("facts", listing.FactListView.as_view(), name="facts"),
    path("audit", audit.AuditListView.as_view(), name="audit"),
    path("namespaces", namespaces.NamespaceListView.as_view(), name="namespaces"),
    path("namespaces/<slug:slug>", namespaces.NamespaceView.as_view(), name="namespace"),
    path(
        "namespaces/<slug:slug>/keys",
        namespaces.NamespaceKeyListView.as_view(),
        name="namespace-keys",
    ),
    path(
        "namespaces/<slug:slug>/keys/<uuid:pk>",
        namespaces.NamespaceKeyView.as_view(),
        name="namespace-key",
    ),
    path("namespace-removals", namespaces.RemovalListView.as_view(), name="namespace-removals"),
    path(
        "namespace-removals/<uuid:pk>", namespaces.RemovalView.as_view(), name="namespace-removal"
    ),
    path("profiles", profiles.ProfileListView.as_view(), name="profiles"),
    path("usage", usage.UsageView.as_view(), name="usage"),
    path("jobs", jobs.JobListView.as_view(), name="jobs"),
    path("jobs/<uuid:pk>", jobs.JobView.as_view(), name="job"),
    path("jobs/<uuid:pk>/events", events.JobEventsView.as_view(), name="job-events"),
    path("jobs/<uuid:pk>/cancel", jobs.CancelView.as_view(), name="job-cancel"),
    path("webhooks", webhooks.WebhookListView.as_view(), name="webhooks"),
    path("webhooks/<uuid:pk>", webhooks.WebhookView.as_view(), name="webhook"),
    path("webhooks/<uuid:pk>/test", webhooks.WebhookTestView.as_view(), name="webhook-test"),
    path(
        "webhooks/<uuid:pk>/rotate-secret",
        webhooks.WebhookSecretView.as_view(),
        name="webhook-secret",
    ),
    path(
        "webhooks/<uuid:pk>/recover", webhooks.WebhookRecoveryView.as_view(), name="webhook-recover"
    ),
    path(
        "webhooks/<uuid:pk>/deliveries",
        webhooks.WebhookDeliveryListView.as_view(),
        name="webhook-deliveries",
    ),
    path(
        "webhooks/<uuid:pk>/deliveries/<uuid:delivery_id>",
        webhooks.WebhookDeliveryView.as_view(),
        name="webhook-delivery",
    ),
    path(
        "webhooks/<uuid:pk>/deliveries/<uuid:delivery_id>/redeliver",
        webhooks.RedeliveryView.as_view(),
        name="webhook-redeliver",
    ),
]
