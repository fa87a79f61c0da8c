"""The embedder behind HTTP, against a real server on a real socket."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memwell.embed import embedder_for
from memwell.embed.http import Http
from memwell.errors import Invalid, Unavailable, Unreachable
from memwell.served import Server
from memwell.testing import promise

KEY = "sk-secret-and-long"


def vectors(texts):
    return [[float(len(text)), 1.0] for text in texts]


def good(texts):
    """The usual answer, in the wrong order, which `index` puts right."""
    items = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors(texts))]
    return 200, {"object": "list", "data": items[::-1], "model": "m"}


class Handler(BaseHTTPRequestHandler):
    """Answers with what the server was told to, one after the other; the last goes on."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, dict(self.headers), body))
        answers = self.server.answers
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        status, content, *headers = answer(body["input"]) if callable(answer) else answer
        if content is threading.Event:
            self.server.ended.wait(30)
            return
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@contextmanager
def serving(*answers):
    """A server on a free port that gives these answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.answers, server.seen, server.ended = list(answers), [], threading.Event()
    server.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def quick(server, **options):
    return Http("m", server.url, **{"pause": 0, **options})


def refusal(*answers, kind, **options):
    """The error that these answers end in, and how often the server was asked."""
    with serving(*answers) as server, pytest.raises(kind) as caught:
        quick(server, **options).embed(["a"])
    assert type(caught.value) is kind
    assert caught.value.hint
    assert KEY not in str(caught.value)
    return str(caught.value), len(server.seen)


@promise("embed:http")
def test_texts_are_sent_and_vectors_come_back_in_order():
    with serving(good) as server:
        embedder = embedder_for(f"openai:m@{server.url}/")
        found = embedder.embed(["four", "", "日本"])
    ((path, headers, body),) = server.seen
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "m", "input": ["four", " ", "日本"]}
    assert [round(vector[0] / vector[1]) for vector in found] == [4, 1, 2]
    assert [sum(x * x for x in vector) for vector in found] == pytest.approx([1, 1, 1])
    assert (embedder.name, embedder.dims) == ("openai:m", 2)


@promise("embed:http")
def test_the_base_url_may_come_from_the_environment(monkeypatch):
    with serving(good) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        embedder_for("openai:@cf/some/model").embed(["a"])
    assert server.seen[0][2]["model"] == "@cf/some/model"


@promise("embed:http:key")
def test_without_a_key_none_is_sent_and_without_a_place_nobody_is_asked(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with serving(good) as server:
        quick(server).embed(["a"])
    assert "Authorization" not in server.seen[0][1]
    with pytest.raises(Invalid, match="set OPENAI_BASE_URL"):
        embedder_for("openai:text-embedding-3-small")


@promise("embed:http:key")
def test_a_key_is_not_sent_over_a_line_that_others_can_read():
    assert "Authorization" not in Server("m", "http://gpu.example/v1", "embeddings", "test")._headers()
    assert Server("m", "https://gpu.example/v1", "embeddings", "test")._headers()["Authorization"] == f"Bearer {KEY}"


@promise("embed:http:key")
def test_a_redirect_is_not_followed_so_the_key_stays():
    with serving(good) as other:
        for status in (301, 302, 303, 307, 308):
            says, asked = refusal((status, {}, ("Location", other.url)), kind=Invalid)
            assert "redirects are not followed" in says
            assert asked == 1
    assert other.seen == []


@promise("embed:http:key")
def test_a_key_is_never_in_an_error_or_a_repr(monkeypatch):
    says, _ = refusal((401, {"error": {"message": f"Incorrect API key: {KEY}"}}), kind=Unavailable)
    assert "Incorrect API key: …" in says
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\nx")
    with pytest.raises(Invalid) as caught:
        Http("m", "https://gpu.example/v1").embed(["a"])
    assert KEY not in str(caught.value)
    assert KEY not in repr(vars(Http("m", "https://gpu.example/v1")))


@pytest.mark.parametrize(
    "base",
    ["ftp://host/v1", "http://", "http://user:pass@host/v1", "http://host:port/v1", "http://host/v1?key=pass",
     "http://ho st/v1", "http://[bad/v1"],
)  # fmt: skip
@promise("embed:http")
def test_a_base_url_that_is_none_is_refused_at_once(base):
    with pytest.raises(Invalid) as caught:
        embedder_for(f"openai:m@{base}")
    assert caught.value.hint
    assert "pass" not in str(caught.value)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
@promise("embed:http:retry")
def test_a_passing_failure_is_tried_again(status):
    with serving((status, {}), (status, b"<html>"), good) as server:
        assert len(quick(server).embed(["a"])) == 1
    assert len(server.seen) == 3


@pytest.mark.parametrize("status", [429, 500])
@promise("embed:http:retry")
def test_trying_again_has_an_end(status):
    says, asked = refusal((status, {"error": {"message": "slow down"}}), kind=Unavailable)
    assert asked == 4
    assert f"answered {status}: slow down" in says


@promise("embed:http:retry")
def test_the_server_says_how_long_to_wait():
    with serving((429, {}, ("Retry-After", "0")), good) as server:
        quick(server, pause=1000).embed(["a"])
    assert len(server.seen) == 2
    _, asked = refusal((429, {}, ("Retry-After", "3600")), kind=Unavailable)
    assert asked == 1


@pytest.mark.parametrize(("status", "kind"), [(401, Unavailable), (403, Unavailable), (400, Invalid), (404, Invalid)])
@promise("embed:http:errors")
def test_a_refusal_is_not_tried_again(status, kind):
    says, asked = refusal((status, {"error": "no such thing"}), kind=kind)
    assert asked == 1
    assert f"answered {status}: no such thing" in says


@pytest.mark.parametrize(
    "content",
    [b"", b"not json", b"\xff\xfe", b"[]", b"{}", {"data": 7}, {"data": [{"embedding": "x"}]},
     {"data": [{"embedding": [1, None]}]}, b"[" * 100_000],
)  # fmt: skip
@promise("embed:http:errors")
def test_an_answer_that_is_something_else_is_an_error(content):
    says, _ = refusal((200, content), kind=Unavailable)
    assert "answered with something else" in says


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ([], "0 vectors for 1 texts"),
        ([{"embedding": [1.0]}] * 2, "2 vectors for 1 texts"),
        ([{"embedding": [1.0], "index": 1}], "1 vectors for 1 texts"),
        ([{"embedding": []}], "0 numbers"),
    ],
)
@promise("embed:http:errors")
def test_wrong_vectors_are_an_error(items, says):
    assert says in refusal((200, {"data": items}), kind=Unavailable)[0]


@promise("embed:http:errors")
def test_vectors_that_change_their_length_are_an_error():
    with serving(good, (200, {"data": [{"embedding": [1.0, 2.0, 3.0]}]})) as server:
        embedder = quick(server)
        embedder.embed(["a"])
        with pytest.raises(Unavailable, match="3 numbers, not 2"):
            embedder.embed(["a"])


@promise("embed:http:errors")
def test_a_silent_server_is_not_waited_for_and_not_tried_again():
    says, asked = refusal((200, threading.Event), kind=Unreachable, timeout=0.1)
    assert "no answer within 0.1 s" in says or "timed out" in says
    assert asked == 1


@promise("embed:http:errors")
def test_a_server_that_is_not_there_is_unreachable():
    with serving(good) as server:
        pass
    with pytest.raises(Unreachable) as caught:
        quick(server, attempts=2).embed(["a"])
    assert caught.value.hint


@promise("embed:http")
def test_many_and_long_texts_go_in_batches():
    with serving(good) as server:
        found = quick(server).embed(["x" * (at % 50 + 1) for at in range(300)])
        assert [round(vector[0] / vector[1]) for vector in found] == [at % 50 + 1 for at in range(300)]
        assert [len(body["input"]) for _, _, body in server.seen] == [128, 128, 44]
        quick(server).embed(["y" * 100_000] * 60)
        sizes = [sum(map(len, body["input"])) for _, _, body in server.seen[3:]]
        assert sum(sizes) == 60 * 8_000
        assert max(sizes) <= 200_000


@promise("embed:http", "embed:threads")
def test_threads_may_share_it():
    with serving(good) as server:
        embedder = quick(server)
        found = {}
        threads = [
            threading.Thread(target=lambda at=at: found.update({at: embedder.embed(["z" * (at + 1)])[0]}))
            for at in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {at: round(vector[0] / vector[1]) for at, vector in found.items()} == {at: at + 1 for at in range(8)}


@promise("embed:http")
def test_half_a_character_is_sent_as_a_whole_one():
    with serving(good) as server:
        quick(server).embed(["\ud83d x"])
    assert server.seen[0][2]["input"] == ["? x"]
