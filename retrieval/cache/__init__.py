"""Results and query vectors kept for a while: one computation for many who ask the same."""
