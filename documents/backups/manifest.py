"""The manifest of a backup: its contents, with counts and checksums. It is written last."""

import hashlib
import json
import os
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.migrations.loader import MigrationLoader

from .errors import RestoreRefused

FORMAT = 1
NAME = "manifest.json"
DUMP = "database.dump"
LIST = "originals.jsonl"  # a line for each original: its key, SHA-256 and size
FILES = "originals"  # the folder they are in, by key
MAX_MANIFEST = 8 * 1024 * 1024
BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class BackupFile:
    """A file of the backup."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """`problems` are keys of originals that were missing or damaged in the storage during the
    backup."""

    made_at: str
    ragsite: str
    postgres: str
    pgvector: str
    roles: dict[str, str]  # names of owner, app, operator and definer on that server
    migrations: dict[str, list[str]]
    rows: dict[str, int]
    originals: int
    original_bytes: int
    dump: BackupFile
    listed: BackupFile
    problems: list[str]
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        """Write it atomically: it is either complete or missing."""
        draft = folder / f"{NAME}.new"
        with draft.open("w") as file:
            json.dump({"kind": "ragsite backup", **asdict(self)}, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / NAME)
        sync_folder(folder)


def read(folder: Path) -> Manifest:
    """Read the manifest of a backup. Raises RestoreRefused if it is not a supported one."""
    path = folder / NAME
    try:
        if path.stat().st_size > MAX_MANIFEST:
            raise ValueError("too large")
        found = json.loads(path.read_text())
        version = found["format"]
        if found.pop("kind") != "ragsite backup" or type(version) is not int:
            raise ValueError("of something else")
    except FileNotFoundError:
        raise RestoreRefused(
            f"{folder} is not a complete backup: it has no {NAME}, which is written last."
        ) from None
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise RestoreRefused(f"{path} cannot be read ({error}).") from None
    if version > FORMAT:
        raise RestoreRefused(
            f"This backup has format {version}, and this version of Ragsite reads formats up to "
            f"{FORMAT}. Restore it with the version that made it, or a newer one."
        )
    try:
        dump, listed = BackupFile(**found.pop("dump")), BackupFile(**found.pop("listed"))
        return Manifest(**found, dump=dump, listed=listed)
    except (KeyError, TypeError) as error:
        raise RestoreRefused(f"{path} is damaged ({error}).") from None


def require_known_migrations(manifest: Manifest) -> None:
    """Raise RestoreRefused if the backup's tables are newer than this code."""
    known = set(MigrationLoader(None).disk_migrations)
    newer = sorted(
        f"{app}.{name}"
        for app, names in manifest.migrations.items()
        for name in names
        if (app, name) not in known and not _is_replaced(app, name)
    )
    if newer:
        raise RestoreRefused(
            f"This backup was made by a newer version of Ragsite ({manifest.ragsite}), whose "
            f"tables this one does not know (migration {newer[0]}). Upgrade first."
        )


def _is_replaced(app: str, name: str) -> bool:
    """Whether the migration belongs to an app that has since squashed it."""
    return app not in ("documents", "retrieval", "evaluation")


def release() -> str:
    project = tomllib.loads((Path(settings.BASE_DIR) / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def originals_in(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield each original's key, sha256 and size, after checking their syntax."""
    with (folder / LIST).open() as lines:
        for line in lines:
            try:
                item = json.loads(line)
                key = item["key"]
                if not _is_key(key) or type(item["bytes"]) is not int or len(item["sha256"]) != 64:
                    raise ValueError
            except (ValueError, KeyError, TypeError):
                raise RestoreRefused(f"{folder / LIST} has a line that cannot be read.") from None
            yield item


def digest(path: Path) -> BackupFile:
    hashed, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            hashed.update(block)
            size += len(block)
    return BackupFile(hashed.hexdigest(), size)


def sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _is_key(key: object) -> bool:
    """Whether this is a storage key that does not lead out of the storage."""
    if not isinstance(key, str) or "\\" in key or "\0" in key:
        return False
    parts = key.split("/")
    return len(parts) > 1 and parts[0] == "uploads" and not {"", ".", ".."} & set(parts)
