"""A typed client for Ragsite: documents in, cited passages and checked answers out."""

from .async_client import AsyncClient
from .client import Client
from .errors import (
    ApiError,
    Conflict,
    ConnectionFailed,
    InvalidRequest,
    NotAuthenticated,
    NotFound,
    PermissionDenied,
    RagsiteError,
    RateLimited,
    ServerError,
    StreamBroken,
    TimedOut,
    Unavailable,
    UnexpectedResponse,
)
from .events import AnswerEvent, Cited, Delta, Failed, Finished, Sources
from .models import (
    Answer,
    AnswerCitation,
    Document,
    Hit,
    IngestAnswer,
    Job,
    QueryAnswer,
    Remembered,
    Turn,
)
from .options import NewTurn
from .streams import AnswerStream, AsyncAnswerStream

__all__ = [
    "Answer",
    "AnswerCitation",
    "AnswerEvent",
    "AnswerStream",
    "ApiError",
    "AsyncAnswerStream",
    "AsyncClient",
    "Cited",
    "Client",
    "Conflict",
    "ConnectionFailed",
    "Delta",
    "Document",
    "Failed",
    "Finished",
    "Hit",
    "IngestAnswer",
    "InvalidRequest",
    "Job",
    "NewTurn",
    "NotAuthenticated",
    "NotFound",
    "PermissionDenied",
    "QueryAnswer",
    "RagsiteError",
    "RateLimited",
    "Remembered",
    "ServerError",
    "Sources",
    "StreamBroken",
    "TimedOut",
    "Turn",
    "Unavailable",
    "UnexpectedResponse",
]
