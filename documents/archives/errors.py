"""Errors that stop an export or an import."""


class ArchiveFailed(Exception):
    """The export was not made, and no file was left behind."""


class ArchiveRefused(Exception):
    """The archive is damaged, of another version, or not compatible with this server. Nothing was
    imported."""
