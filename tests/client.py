"""A client app's view of the API."""

import json
from dataclasses import dataclass
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: dict[str, str]

    @property
    def code(self) -> str:
        error = self.body["error"]
        return str(self.body["code"] if isinstance(error, str) else error["code"])

    @property
    def message(self) -> str:
        error = self.body["error"]
        return str(error if isinstance(error, str) else error["message"])


@dataclass(frozen=True)
class Api:
    client: Client
    key: str = ""

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        if self.key:
            headers = {"Authorization": f"Bearer {self.key}", **headers}
        kwargs: dict[str, Any] = {"headers": headers}
        if body is not None:
            kwargs |= {"data": json.dumps(body), "content_type": "application/json"}
        address = f"/{path}" if path.startswith(("api/", "v1/")) else f"/api/v1/{path}"
        return _answer(self.client.generic(method, address, **kwargs))

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None) -> Answer:
        return self.call("POST", path, body)

    def patch(self, path: str, body: Any) -> Answer:
        return self.call("PATCH", path, body)

    def delete(self, path: str) -> Answer:
        return self.call("DELETE", path)

    def upload(self, *files: tuple[str, str | bytes], **fields: Any) -> Answer:
        """Like `curl -F file=@name …`."""
        uploads = [
            SimpleUploadedFile(name, data.encode() if isinstance(data, str) else data)
            for name, data in files
        ]
        headers = {"Authorization": f"Bearer {self.key}"}
        return _answer(
            self.client.post("/api/v1/ingest", {"file": uploads, **fields}, headers=headers)
        )

    def query(self, question: str, **options: Any) -> Answer:
        return self.post("query", {"query": question, **options})


def _answer(response: Any) -> Answer:
    raw = b"".join(response) if response.streaming else response.content
    is_json = response.headers.get("Content-Type", "").startswith("application/json")
    return Answer(response.status_code, json.loads(raw) if is_json else raw, response.headers)
