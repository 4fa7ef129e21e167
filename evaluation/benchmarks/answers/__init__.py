"""Programs that measure answers: how soon they begin, and whether they hold the answer."""
