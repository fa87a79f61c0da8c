"""Task memory: what is recalled before a task and remembered after it, for plain and async tasks, in both faces."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import memwell
from memwell.agent.colours import given
from memwell.agent.tasks import TaskContext, describe, remembering
from memwell.errors import Invalid
from memwell.testing import promise
from memwell.types import Record

from .talks import KINDS, opened


@pytest.fixture(params=KINDS)
async def mem(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    async with opened(request.param, tmp_path) as store:
        yield store.scope(workflow="release")


async def kept(mem: Any) -> list[Record]:
    return await given(mem.records.list())  # type: ignore[no-any-return]


@promise("task:recall", "task:remember")
async def test_a_task_recalls_before_it_runs_and_remembers_after(mem: Any) -> None:
    await given(mem.remember("Berlin ships on Mondays", kind="procedural"))
    await given(mem.remember("Tea is kept in the kitchen"))

    @remembering(mem, recall=lambda city, day: f"{city} ships", remember=lambda result: f"shipped: {result}")
    async def ship(city: str, day: str, context: TaskContext) -> str:
        assert context.memory is mem
        return f"{city} on {day}, knowing {context.recalled.records[0].content!r}"

    assert await ship("Berlin", day="Friday") == "Berlin on Friday, knowing 'Berlin ships on Mondays'"
    (record,) = [record for record in await kept(mem) if record.content.startswith("shipped")]
    assert record.content == "shipped: Berlin on Friday, knowing 'Berlin ships on Mondays'"
    assert (record.kind, record.provenance.tool) == ("episodic", "ship")
    assert record.provenance.run


@promise("task:recall", "task:remember")
def test_a_plain_task_has_a_plain_memory() -> None:
    with memwell.open(":memory:") as store:
        mem = store.scope(workflow="release")

        @remembering(mem, recall="release", remember=True, kind="semantic", name="ship it")
        def ship(version: str, *, context: TaskContext) -> dict[str, Any]:
            return {"release": version, "earlier": len(context.recalled.records)}

        assert ship("1.0") == {"release": "1.0", "earlier": 0}
        assert ship("1.1") == {"release": "1.1", "earlier": 1}
        newest, oldest = mem.records.list()
        assert newest.content == '{"release":"1.1","earlier":1}'
        assert (newest.kind, newest.provenance.tool) == ("semantic", "ship it")
        assert newest.provenance.run != oldest.provenance.run


@promise("task:context")
def test_the_context_is_given_only_to_who_takes_it() -> None:
    with memwell.open(":memory:") as store:
        mem = store.scope(workflow="release")
        plain = remembering(mem, recall="x")(lambda *args, **kwargs: (args, kwargs))
        assert plain(1, two=2) == ((1,), {"two": 2})

        @remembering(mem, recall="x")
        def takes(one: int, context: Any) -> Any:
            return context

        assert isinstance(takes(1), TaskContext)
        assert takes(1, context="mine") == takes(1, "mine") == "mine"
        with pytest.raises(TypeError, match="unexpected keyword argument 'three'"):
            takes(1, three=3)
        assert str(inspect.signature(takes)) == "(one: 'int') -> 'Any'"
        assert takes.__name__ == "takes"


@promise("task:failure")
async def test_a_task_that_fails_remembers_nothing_and_its_error_passes(mem: Any) -> None:
    failure = RuntimeError("no build")

    @remembering(mem, remember=True)
    async def ship() -> None:
        raise failure

    with pytest.raises(RuntimeError) as caught:
        await ship()
    assert caught.value is failure
    assert await kept(mem) == []


@promise("task:failure")
@pytest.mark.parametrize("failure", [StopIteration(3), KeyError("x"), KeyboardInterrupt(), asyncio.CancelledError()])
def test_whatever_a_plain_task_raises_passes(failure: BaseException) -> None:
    with memwell.open(":memory:") as store:
        mem = store.scope(workflow="release")

        @remembering(mem, recall="x", remember=True)
        def ship() -> None:
            raise failure

        with pytest.raises(type(failure)) as caught:
            ship()
        assert caught.value is failure
        assert mem.records.list() == []


@promise("task:remember")
@pytest.mark.parametrize(
    ("said", "contents"),
    [(None, []), (False, []), (True, ["result"]), ("text", ["text"]), ({"content": "c", "tags": ["t"]}, ["c"])],
)
async def test_what_remember_gives_is_remembered(mem: Any, said: Any, contents: list[str]) -> None:
    async def later(result: str) -> Any:
        return said

    for remember in (lambda result: said, later):

        @remembering(mem, remember=remember)
        async def task() -> str:
            return "result"

        assert await task() == "result"
        records = await kept(mem)
        assert [record.content for record in records] == contents
        assert [record.tags for record in records] == [["t"] if isinstance(said, dict) else []] * len(contents)


@promise("task:stamped")
@pytest.mark.parametrize(
    "said", [3, {}, {"content": 3}, {"content": "x", "nope": 1}]
    + [{"content": "x", field: "y"} for field in ("run", "tool", "trust")],
)  # fmt: skip
def test_what_is_no_memory_is_refused(said: Any) -> None:
    with memwell.open(":memory:") as store:
        mem = store.scope(workflow="release")
        task = remembering(mem, remember=lambda result: said)(lambda: "result")
        with pytest.raises(Invalid) as caught:
            task()
        assert caught.value.hint
        assert mem.records.list() == []


@promise("task:remember")
@pytest.mark.parametrize("result", [object(), {"at": {1, 2}}, float("nan")])
def test_a_result_that_is_not_json_is_refused(result: Any) -> None:
    with memwell.open(":memory:") as store, pytest.raises(Invalid):
        remembering(store.scope(workflow="release"), remember=True)(lambda: result)()


@promise("task:stamped")
def test_a_result_is_never_read_as_fields() -> None:
    with memwell.open(":memory:") as store:
        mem = store.scope(workflow="release")
        remembering(mem, remember=True)(lambda: {"content": "x", "pinned": True, "trust": "human"})()
        (record,) = mem.records.list()
        assert record.content == '{"content":"x","pinned":true,"trust":"human"}'
        assert not record.pinned


@promise("task:recall")
async def test_what_is_recalled_has_a_budget(mem: Any) -> None:
    for number in range(50):
        await given(mem.remember(f"note {number} about the release of many words"))

    @remembering(mem, recall="release", max_tokens=100)
    async def task(context: TaskContext) -> Any:
        return context.recalled

    packed = await task()
    assert 0 < packed.tokens <= 100
    assert packed.left_out


@promise("task:recall")
async def test_no_query_recalls_nothing(mem: Any) -> None:
    await given(mem.remember("release"))

    @remembering(mem, recall=lambda: None)
    async def task(context: TaskContext) -> Any:
        return context.recalled

    assert (await task()).records == []
    with pytest.raises(Invalid):
        await remembering(mem, recall=lambda: 3)(task)()


@promise("task:block")
async def test_a_block_recalls_and_remembers(mem: Any) -> None:
    await given(mem.remember("release on Mondays"))
    plain = isinstance(mem, memwell.Memory)

    async def block(result: Any, fails: bool = False) -> TaskContext:
        task = remembering(mem, recall="release", remember=True, name="plan")
        if plain:
            with task as context:
                context.result = result
                assert not fails or 1 / 0
        else:
            async with task as context:
                context.result = result
                assert not fails or 1 / 0
        return context

    context = await block("planned")
    assert [record.content for record in context.recalled.records] == ["release on Mondays"]
    assert context.remembered is not None
    assert context.remembered.provenance.tool == "plan"
    with pytest.raises(ZeroDivisionError):
        await block("failed", fails=True)
    assert sorted(record.content for record in await kept(mem)) == ["planned", "release on Mondays"]


@promise("task:block")
async def test_blocks_of_tasks_that_run_at_once_do_not_mix(mem: Any) -> None:
    if isinstance(mem, memwell.Memory):
        with remembering(mem, remember=True) as outer, remembering(mem, remember=True) as inner:
            outer.result, inner.result = "outer", "inner"
        assert (outer.remembered.content, inner.remembered.content) == ("outer", "inner")  # type: ignore[union-attr]
        return
    task, gate = remembering(mem, remember=True), asyncio.Barrier(5)

    async def one(number: int) -> Any:
        async with task as context:
            await gate.wait()
            context.result = f"result {number}"
        return context.remembered

    made = await asyncio.gather(*map(one, range(5)))
    assert [record.content for record in made] == [f"result {number}" for number in range(5)]


async def test_the_memory_may_depend_on_the_arguments(mem: Any) -> None:
    @remembering(lambda user: mem, remember=True)
    async def greet(user: str) -> str:
        return f"hello {user}"

    assert await greet("Ada") == "hello Ada"
    assert [record.content for record in await kept(mem)] == ["hello Ada"]


async def test_an_async_task_does_not_hold_up_the_loop_for_a_plain_memory(tmp_path: Path) -> None:
    with memwell.open(tmp_path / "memory.db") as store:
        mem = store.scope(workflow="release")

        @remembering(mem, recall="x", remember=True)
        async def task() -> str:
            return "done"

        assert await task() == "done"
        assert [record.content for record in mem.records.list()] == ["done"]


@promise("task:describe")
def test_a_description_is_attached_and_does_nothing() -> None:
    def task() -> str:
        return "done"

    memory = {"recall": "what matters", "remember": True}
    assert describe(task, memory=memory) is task
    assert task.__memory__ == memory  # type: ignore[attr-defined]
    assert task() == "done"
    for wrong in ({"recal": "x"}, {"recall": "x", "other": 1}):
        with pytest.raises(Invalid):
            describe(task, memory=wrong)
    with pytest.raises(Invalid):
        describe(len, memory=memory)


@promise("task:describe")
async def test_the_decorator_describes_too(mem: Any) -> None:
    @remembering(mem, recall="q", remember=True)
    async def task() -> None: ...

    assert task.__memory__ == {"recall": "q", "remember": True}  # type: ignore[attr-defined]


async def test_what_can_not_work_is_refused_at_once() -> None:
    async with memwell.open_async(":memory:") as store:
        mem = store.scope(workflow="release")
        with pytest.raises(Invalid):
            remembering(mem)(lambda: 1)
        with pytest.raises(Invalid), remembering(mem):
            pass
        for wrong in ({"recall": 3}, {"remember": "x"}, {"max_tokens": 0}):
            with pytest.raises(Invalid):
                remembering(mem, **wrong)  # type: ignore[arg-type]
        with pytest.raises(Invalid):
            remembering(store)  # type: ignore[arg-type]

        async def yields() -> AsyncIterator[int]:
            yield 1

        with pytest.raises(Invalid):
            remembering(mem)(yields)
