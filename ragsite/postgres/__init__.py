"""The PostgreSQL we run ourselves, and base.py: the Django engine that sees to it that it runs."""
