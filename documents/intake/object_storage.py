"""Originals in a private S3-compatible bucket (AWS, MinIO, SeaweedFS, Supabase Storage, R2).

Only imported if STORAGE_BUCKET is set: boto3 is in requirements/s3.txt.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, HTTPClientError
from django.core.files.base import File
from django.utils.http import content_disposition_header
from storages.backends.s3 import S3File, S3Storage

CONNECT_SECONDS, READ_SECONDS, ATTEMPTS = 5, 30, 4
PART_BYTES = 8 * 1024 * 1024  # larger files are sent in parts
MEMORY_BYTES = 1024 * 1024  # anything beyond that is spooled to disk
_FAILURES = (BotoCoreError, Boto3Error, ClientError, HTTPClientError)

T = TypeVar("T")


class ObjectStorageFailed(OSError):
    """The bucket cannot be reached, or refused."""


@contextmanager
def _translated() -> Iterator[None]:
    """Translate errors to those that callers expect of any storage: FileNotFoundError and other
    OSErrors."""
    try:
        yield
    except _FAILURES as error:
        raise ObjectStorageFailed(f"The object storage failed: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    """Name the failure without addresses, keys or the server's own words."""
    response = getattr(error, "response", None) or {}
    return str(response.get("Error", {}).get("Code") or type(error).__name__)


def _translating(method: Callable[..., T]) -> Callable[..., T]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> T:
        with _translated():
            return method(*args, **kwargs)

    return call


def _add_digest(params: dict[str, Any], **kwargs: Any) -> None:
    """Send the MD5 of an object or a part, which every S3 implementation compares.

    The signature contains the body's SHA-256, but not all implementations check it: SeaweedFS
    accepts bytes that differ.
    """
    body = params["body"]
    digest = hashlib.md5(usedforsecurity=False)
    if isinstance(body, (bytes, bytearray)):
        digest.update(body)
    else:
        start = body.tell()
        while piece := body.read(MEMORY_BYTES):
            digest.update(piece)
        body.seek(start)
    params["headers"]["Content-MD5"] = b64encode(digest.digest()).decode()


class _Original(S3File):
    """An original whose bytes are fetched at the first read, which can also fail."""

    @property
    def file(self) -> Any:
        with _translated():
            return self._get_file()

    @file.setter
    def file(self, value: Any) -> None:
        self._set_file(value)


class OriginalsBucket(S3Storage):
    """Every object and part is sent with its digest, so the server refuses bytes that changed in
    transit; bytes that are read are compared with the document's checksum (originals.py)."""

    def __init__(self, *, link_endpoint_url: str = "", link_seconds: int = 0, **options: Any):
        config = Config(
            signature_version="s3v4",
            s3={
                "addressing_style": options.pop("addressing_style", None) or "path",
                "payload_signing_enabled": True,
            },
            # Not all S3 implementations support the newer checksums: see _add_digest.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            connect_timeout=CONNECT_SECONDS,
            read_timeout=READ_SECONDS,
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        )
        defaults = {
            "client_config": config,
            "transfer_config": TransferConfig(
                multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES, use_threads=False
            ),
            "default_acl": None,
            "querystring_auth": True,
            # keys are random, so there is no need to check for existing objects
            "file_overwrite": True,
            "gzip": False,
            "max_memory_size": MEMORY_BYTES,
            "object_parameters": {"ContentType": "application/octet-stream"},
        }
        super().__init__(**{**defaults, **options})
        self.link_endpoint_url, self.link_seconds = link_endpoint_url, link_seconds

    def _create_session(self) -> Any:
        session = super()._create_session()
        for operation in ("PutObject", "UploadPart"):
            session.events.register(f"before-call.s3.{operation}", _add_digest)
        return session

    def _open(self, name: str, mode: str = "rb") -> File:
        name = self._normalize_name(name)
        try:
            return _Original(name, mode, self)
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
                raise FileNotFoundError(name) from error
            raise ObjectStorageFailed(f"The object storage failed: {_reason(error)}.") from error
        except _FAILURES as error:
            raise ObjectStorageFailed(f"The object storage failed: {_reason(error)}.") from error

    _save = _translating(S3Storage._save)
    delete = _translating(S3Storage.delete)
    exists = _translating(S3Storage.exists)
    listdir = _translating(S3Storage.listdir)
    size = _translating(S3Storage.size)
    get_modified_time = _translating(S3Storage.get_modified_time)

    def signed_link(self, key: str, *, name: str, media_type: str) -> str | None:
        """Return an address that downloads the original for `link_seconds`, or None if links are
        switched off. Signing needs no request."""
        if not self.link_seconds:
            return None
        client = self._create_session().client(
            "s3",
            region_name=self.region_name,
            endpoint_url=self.link_endpoint_url or self.endpoint_url,
            config=self.client_config,
            verify=self.verify,
        )
        wanted = {
            "Bucket": self.bucket_name,
            "Key": self._normalize_name(key),
            "ResponseContentType": media_type,
            "ResponseContentDisposition": content_disposition_header(True, name) or "attachment",
        }
        link: str = client.generate_presigned_url(
            "get_object", Params=wanted, ExpiresIn=self.link_seconds
        )
        return link
