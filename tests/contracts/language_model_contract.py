"""What must hold for every language model, whatever is behind it."""

import threading
import time
from collections.abc import Callable

import pytest

from documents.language_models.base import (
    AnswerPiece,
    Cancelled,
    ChatRequest,
    LanguageModel,
    LanguageModelFailed,
    Message,
)

from ..chat_server import Site

QUESTION = "Wie lange? Ökonomisch gefragt: how long, 期間は？ 🦊"
ANSWER = "Forty-two days — 四十二日 🦊 «Frist» [cite:a1]. Ends on 31 May [cite:b2]."
MESSAGES = (
    Message("system", "Answer from the documents."),
    Message("user", "Hello"),
    Message("assistant", "Hello!"),
    Message("user", QUESTION),
)
REQUEST = ChatRequest(MESSAGES, max_tokens=200)
KEY = "sk-very-secret"

Build = Callable[..., LanguageModel]  # behaviour of the server, and options


def soon(seconds: float = 20.0) -> float:
    return time.monotonic() + seconds


def failure(model: LanguageModel, seconds: float = 20.0) -> LanguageModelFailed:
    with pytest.raises(LanguageModelFailed) as caught:
        model.complete(REQUEST, deadline=soon(seconds))
    return caught.value


def text_of(pieces: list[AnswerPiece]) -> str:
    return "".join(piece.text for piece in pieces)


class AnswerContract:
    """A server that does as it should, in one of the many ways there are."""

    @pytest.mark.parametrize(
        "behaviour",
        [
            "normal",
            "heartbeats",
            "crlf",
            "split-characters",
            "not-streamed",
            "thinks-aloud",
            "thinks-aside",
            "flaky",
            "overloaded-once",
            "dies-once",
            "busy",
        ],
    )
    def test_the_whole_text_arrives(self, build: Build, site: Site, behaviour: str) -> None:
        answer = build(behaviour).complete(REQUEST, deadline=soon())
        assert answer.text == ANSWER
        assert answer.finish == "stop"

    def test_it_arrives_in_pieces_and_the_last_one_says_how_it_ended(self, build: Build) -> None:
        pieces = list(build("normal").stream(REQUEST, deadline=soon()))
        assert text_of(pieces) == ANSWER
        assert len(pieces) > 5
        assert pieces[-1].finish == "stop"
        assert pieces[-1].usage is not None
        assert all(piece.finish is None and piece.usage is None for piece in pieces[:-1])

    def test_a_piece_is_given_before_the_answer_is_over(self, build: Build, site: Site) -> None:
        stream = build("stalls-midway").stream(REQUEST, deadline=soon())
        assert next(stream).text
        assert site.unfinished
        stream.close()  # type: ignore[attr-defined]

    def test_usage_is_the_providers(self, build: Build, site: Site) -> None:
        usage = build("normal").complete(REQUEST, deadline=soon()).usage
        prompt = sum(len(message.content.split()) for message in MESSAGES)
        assert (usage.prompt_tokens, usage.completion_tokens) == (prompt, len(ANSWER.split()))
        assert not usage.is_estimated

    def test_missing_usage_is_estimated(self, build: Build) -> None:
        usage = build("no-usage").complete(REQUEST, deadline=soon()).usage
        assert usage.is_estimated
        assert usage.prompt_tokens > 10
        assert usage.completion_tokens > 10

    def test_the_limit_of_tokens_is_told_apart(self, build: Build) -> None:
        assert build("too-long").complete(REQUEST, deadline=soon()).finish == "length"

    def test_an_empty_answer_is_an_answer(self, build: Build) -> None:
        answer = build("empty").complete(REQUEST, deadline=soon())
        assert (answer.text, answer.finish) == ("", "stop")

    def test_the_conversation_arrives_as_it_was(self, build: Build, site: Site) -> None:
        build("normal").complete(REQUEST, deadline=soon())
        assert site.last.messages == [{"role": m.role, "content": m.content} for m in MESSAGES]

    def test_key_and_request_id_are_sent(self, build: Build, site: Site) -> None:
        model = build("normal", headers={"X-Team": "blue"}, request_id=lambda: "req-1")
        model.complete(REQUEST, deadline=soon())
        assert site.last.key == KEY
        assert site.last.headers["x-request-id"] == "req-1"
        assert site.last.headers["x-team"] == "blue"

    def test_fields_of_the_body_can_be_added_and_left_out(self, build: Build, site: Site) -> None:
        request = ChatRequest(MESSAGES, temperature=0.5)
        build("normal", body={"seed": 7}, omit=["temperature", "options"]).complete(
            request, deadline=soon()
        )
        assert site.last.body["seed"] == 7
        assert not {"temperature", "options"} & set(site.last.body)

    def test_connections_are_used_again(self, build: Build, site: Site) -> None:
        model = build("normal")
        for _ in range(3):
            model.complete(REQUEST, deadline=soon())
        assert len({received.port for received in site.requests}) == 1

    def test_an_identity_names_provider_and_model(self, build: Build) -> None:
        assert build("normal").identity.endswith("/some-model")


class FailureContract:
    """Every failure has its code, names nothing of the provider's and comes in time."""

    @pytest.mark.parametrize(
        ("behaviour", "code", "tries"),
        [
            ("bad-request", "refused", None),
            ("wrong-key", "refused", 1),
            ("unknown-model", "refused", 1),
            ("moved", "refused", 1),
            ("always-busy", "unavailable", 1),  # it wants an hour, and there is none
            ("broken", "unavailable", 3),
            ("unavailable", "unavailable", 3),
            ("overloaded", "unavailable", 3),
            ("error-first", "unavailable", 3),
            ("error-midway", "unavailable", 1),
            ("dies", "broke_off", 1),
            ("dies-at-once", "broke_off", 3),
            ("cut-short", "broke_off", 1),
            ("ends-early", "broke_off", 1),
            ("nothing", "broke_off", 3),
            ("html", "bad_response", 1),
            ("not-json", "bad_response", 1),
            ("a-list", "bad_response", 1),
            ("nested", "bad_response", 1),
            ("wrong-framing", "bad_response", 1),
            ("wrong-shape", "bad_response", 1),
            ("broken-utf8", "bad_response", 1),
            ("endless-line", "bad_response", 1),
        ],
    )
    def test_failures_are_told_apart(
        self, build: Build, site: Site, behaviour: str, code: str, tries: int | None
    ) -> None:
        error = failure(build(behaviour))
        assert error.code == f"language_model_{code}"
        assert "secret" not in f"{error} {error.__cause__!r} {error.__context__!r}"
        if tries is not None:
            assert len(site.requests) == tries

    @pytest.mark.parametrize(
        "behaviour", ["stalls", "stalls-after-headers", "stalls-midway", "drips"]
    )
    def test_the_deadline_ends_every_wait(self, build: Build, site: Site, behaviour: str) -> None:
        assert failure(build(behaviour), seconds=0.5).code == "language_model_timeout"
        assert site.wait_for_close()

    def test_a_deadline_that_has_passed_sends_nothing(self, build: Build, site: Site) -> None:
        assert failure(build("normal"), seconds=-1).code == "language_model_timeout"
        assert not site.requests

    def test_silence_between_two_pieces_ends_it(self, build: Build, site: Site) -> None:
        model = build("stalls-midway", idle_seconds=0.3)
        assert failure(model).code == "language_model_timeout"
        assert site.wait_for_close()

    def test_a_try_without_a_sign_of_life_is_made_again(self, build: Build, site: Site) -> None:
        model = build("stalls-once", first_piece_seconds=2.0)
        assert model.complete(REQUEST, deadline=soon()).text == ANSWER
        assert len(site.requests) == 2

    def test_retry_after_is_heeded(self, build: Build, site: Site) -> None:
        build("busy").complete(REQUEST, deadline=soon())
        first, second = site.requests
        assert second.at - first.at >= 1

    def test_a_flood_is_cut_at_the_limit(self, build: Build, site: Site) -> None:
        answer = build("floods").complete(REQUEST, deadline=soon())
        assert answer.finish == "length"
        assert len(answer.text) <= 16 * REQUEST.max_tokens
        assert answer.usage.is_estimated
        assert site.wait_for_close()

    def test_a_port_where_nobody_listens_is_unavailable(self, build: Build) -> None:
        model = build("normal", url="http://127.0.0.1:9", retries=0)
        assert failure(model).code == "language_model_unavailable"

    def test_neither_key_nor_headers_are_shown(self, build: Build) -> None:
        model = build("normal", headers={"X-Token": "hush"})
        shown = f"{model!r} {vars(model)!r}"
        assert KEY not in shown
        assert "hush" not in shown


class CancelContract:
    @pytest.mark.parametrize(
        "behaviour", ["stalls", "stalls-midway", "drips", "busy-for-five-seconds"]
    )
    def test_a_cancelled_call_is_closed(self, build: Build, site: Site, behaviour: str) -> None:
        cancelled = threading.Event()
        timer = threading.Timer(0.3, cancelled.set)
        timer.start()
        with pytest.raises(Cancelled):
            build(behaviour).complete(REQUEST, deadline=soon(), cancelled=cancelled)
        timer.join()
        assert site.wait_for_close()

    def test_one_that_was_cancelled_before_sends_nothing(self, build: Build, site: Site) -> None:
        cancelled = threading.Event()
        cancelled.set()
        with pytest.raises(Cancelled):
            build("normal").complete(REQUEST, deadline=soon(), cancelled=cancelled)
        assert not site.requests

    def test_closing_the_iterator_closes_the_connection(self, build: Build, site: Site) -> None:
        stream = build("slow").stream(REQUEST, deadline=soon())
        next(stream)
        stream.close()  # type: ignore[attr-defined]
        assert site.wait_for_close(1)
        assert site.closed_early == [site.last]

    def test_steps_may_be_taken_by_different_threads(self, build: Build) -> None:
        stream = build("slow").stream(REQUEST, deadline=soon())
        pieces: list[AnswerPiece] = []

        def step() -> None:
            if (piece := next(stream, None)) is not None:
                pieces.append(piece)

        while not pieces or pieces[-1].finish is None:
            thread = threading.Thread(target=step)
            thread.start()
            thread.join()
        assert text_of(pieces) == ANSWER

    def test_no_thread_is_left_behind(self, build: Build, site: Site) -> None:
        failure(build("stalls"), seconds=0.3)
        site.wait_for_close()
        assert not [t for t in threading.enumerate() if t.name == "deadline"]


class LanguageModelContract(AnswerContract, FailureContract, CancelContract):
    """`build(behaviour, **options)` gives a model whose server behaves so."""

    @pytest.fixture
    def build(self, site: Site) -> Build:
        raise NotImplementedError
