"""POST /ingest: request serializers, the intake of each item, and the response."""
