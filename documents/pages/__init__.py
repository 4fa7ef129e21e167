"""Pages for people: takes a signed link, and shows the cited passage in its document. May import
models, accounts, intake, ingestion, extractors and what the API's documents module shares."""
