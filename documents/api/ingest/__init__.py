"""POST /ingest: what a request may hold, how it is taken in, what is answered."""
