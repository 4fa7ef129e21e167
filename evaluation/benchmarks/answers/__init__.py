"""Programs that measure answers: how soon they start, and whether they are right."""
