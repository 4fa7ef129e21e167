"""Feedback on answers from the ask page. Thin views that call evaluation.golden."""
