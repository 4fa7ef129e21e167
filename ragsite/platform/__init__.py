"""What every app stands on: limits on requests, who is calling from where, and what the database
refuses to wait for. Nothing here knows of documents or searches."""
