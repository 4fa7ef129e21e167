"""Measurements on public collections: run by hand, never by the tests."""
