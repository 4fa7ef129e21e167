"""Readers of tables and structured data: CSV, JSON, notebooks."""
