"""Errors that stop a backup or a restore."""


class BackupFailed(Exception):
    """No backup that looks complete is left behind; the message says what to do."""


class RestoreRefused(Exception):
    """Nothing was changed; the message says why and what to do."""
