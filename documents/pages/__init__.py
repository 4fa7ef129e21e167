"""Pages for people: a signed link in, the cited passage inside its document out.

May import models, accounts, intake, ingestion, extractors and what the API's documents module
shares.
"""
