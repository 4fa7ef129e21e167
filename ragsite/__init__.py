"""Wiring only: settings, urls, tenancy, the embedded database, the supervisor."""
