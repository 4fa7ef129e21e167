"""Create what a first start needs: a namespace, an operator's login, an API key and samples."""

import json
import os
import secrets
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.files.base import File

from documents.accounts import keys
from documents.intake import intake
from documents.models import ApiKey, Namespace
from evaluation.golden import starter
from ragsite.database.tenancy import operator

SAMPLES = Path(settings.BASE_DIR) / "documents" / "samples"
USERNAME = "operator"


@dataclass
class Credentials:
    """Printed by `make run` at a terminal. Stored in HOME, readable by its owner only: delete the
    file once you have saved or changed its contents."""

    password: str = ""
    api_key: str = ""
    samples_loaded: bool = False
    starter_set_loaded: bool = False

    @classmethod
    def load(cls) -> "Credentials":
        try:
            return cls(**json.loads(credentials_path().read_text()))
        except FileNotFoundError:
            return cls()

    def save(self) -> None:
        descriptor = os.open(credentials_path(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.fchmod(descriptor, 0o600)  # the file may exist with a wider mode
        with os.fdopen(descriptor, "w") as file:
            json.dump(asdict(self), file, indent=2)


def credentials_path() -> Path:
    return Path(settings.HOME) / "credentials.json"


def ensure() -> Credentials:
    """Create what is missing and leave the rest as it is."""
    credentials = Credentials.load()
    with operator():
        tenant = Namespace.objects.filter(slug="default").first()
        tenant = tenant or keys.create_namespace("default", name="Default")
        _ensure_login(credentials)
        _ensure_key(credentials, tenant)
    credentials.save()
    return credentials


def _ensure_login(credentials: Credentials) -> None:
    users = get_user_model().objects
    user = users.filter(username=USERNAME).first()
    if user is None:
        credentials.password = secrets.token_urlsafe(12)
        users.create_superuser(USERNAME, password=credentials.password)
    elif not user.check_password(credentials.password):
        credentials.password = ""  # the password has been changed


def _ensure_key(credentials: Credentials, tenant: Namespace) -> None:
    prefix = credentials.api_key.split("_")[1] if credentials.api_key else ""
    if not ApiKey.objects.filter(prefix=prefix, namespace=tenant, revoked_at=None).exists():
        _, credentials.api_key = keys.issue(tenant, scopes=["read", "write"], name="make run")


def load_samples(credentials: Credentials) -> list[uuid.UUID]:
    """Queue the sample documents, once per home, and return the ids of their jobs."""
    if credentials.samples_loaded:
        return []
    with operator():
        tenant = Namespace.objects.get(slug="default")
    job_ids = take_samples(tenant.pk)
    credentials.samples_loaded = True
    credentials.save()
    return job_ids


def take_samples(namespace_id: uuid.UUID) -> list[uuid.UUID]:
    """Accept the samples and return the ids of their jobs; none for samples already there."""
    job_ids = []
    for path in sorted(SAMPLES.glob("*.md")):
        with path.open("rb") as opened:
            receipt = intake.accept(
                namespace_id,
                intake.Submission(
                    content=File(opened, name=path.name),
                    file_name=path.name,
                    source_uri=f"sample:{path.name}",
                ),
            )
        if receipt.job_id:
            job_ids.append(receipt.job_id)
    return job_ids


def load_starter_set(credentials: Credentials, namespace_id: uuid.UUID) -> None:
    """Load the golden queries for the samples, once per home, when the samples are searchable."""
    if credentials.samples_loaded and not credentials.starter_set_loaded:
        starter.load(namespace_id)
        credentials.starter_set_loaded = True
        credentials.save()
