"""Webhooks and their deliveries. May import what `documents.admin` may."""

from . import changelist, deliveries

__all__ = ["changelist", "deliveries"]
