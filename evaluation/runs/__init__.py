"""Runs: every query of a golden set through the search, measured, compared, gated."""
