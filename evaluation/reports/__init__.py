"""Runs and experiments as tables, charts and files."""
