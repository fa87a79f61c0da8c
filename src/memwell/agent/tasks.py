"""Tasks that remember: what they need is recalled before they run, and what came of them is remembered after.

>>> import memwell
>>> store = memwell.open(":memory:")
>>> mem = store.scope(workflow="release")
>>> @remembering(mem, recall="release", remember=True)
... def ship(version, context):
...     return f"release {version} went out after {len(context.recalled.records)} earlier ones"
>>> ship("1.0"), ship("1.1")
('release 1.0 went out after 0 earlier ones', 'release 1.1 went out after 1 earlier ones')
>>> store.close()
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any, TypeVar

from memwell.agent.colours import at_once, called, is_awaited
from memwell.agent.process import is_async
from memwell.aio import AsyncMemory
from memwell.codec import encode
from memwell.engine.rules import check_number
from memwell.errors import Invalid
from memwell.ids import new_id
from memwell.memory import Memory
from memwell.ops import Draft
from memwell.types import Packed, Record

F = TypeVar("F", bound=Callable[..., Any])
Anywhere = Memory | AsyncMemory
PARAMETER = "context"  # a task that has a parameter of this name is given its TaskContext
STAMPED = {"run", "tool", "trust"}  # what the system says of a record, whatever a task says
JSON_MOST = 1 << 20  # bytes of a result that is remembered as JSON
_NOTHING = Packed("", 0, [], 0)
_UNSET: Any = object()


_open: ContextVar[tuple[Any, ...]] = ContextVar("memwell_tasks", default=())  # the with blocks that this code is in


class TaskContext:
    """What a task is given: what was recalled for it, its memory, and the id of this run.

    Where `remembering` is a context manager, `result` is set to what is to be remembered.
    """

    def __init__(self, task: str, memory: Any, recalled: Packed = _NOTHING) -> None:
        self.task, self.memory, self.recalled = task, memory, recalled
        self.run = new_id()
        self.result: Any = _UNSET
        self.remembered: Record | None = None

    def __repr__(self) -> str:
        return f"<TaskContext {self.task} {self.run}>"


def describe(task: F, *, memory: dict[str, Any]) -> F:
    """Attach `{"recall": ..., "remember": ...}` to a task as `task.__memory__`, for whoever runs it; no more."""
    unknown = set(memory) - {"recall", "remember"}
    if unknown:
        raise Invalid(f"a task's memory has no {sorted(unknown)[0]!r}", hint="give recall, remember, or both")
    try:
        task.__memory__ = dict(memory)  # type: ignore[attr-defined]
    except AttributeError:
        raise Invalid(f"nothing can be attached to {task!r}", hint="describe a function of your own") from None
    return task


class remembering:  # noqa: N801 - used as a decorator and in `with`
    """A decorator, and a context manager: recalls before a task, remembers its result after, unless it fails.

    `recall` is a query, or a function of the task's arguments that gives one (None: nothing is recalled).
    `remember` is a function of the result that gives a text, the fields of a record, True for the result itself, or
    None for nothing; or True. `memory` may be a function of the task's arguments too.
    """

    def __init__(
        self,
        memory: Anywhere | Callable[..., Anywhere],
        *,
        recall: str | Callable[..., Any] | None = None,
        remember: Callable[[Any], Any] | bool | None = None,
        kind: str = "episodic",
        max_tokens: int = 1000,
        name: str | None = None,
    ) -> None:
        check_number(max_tokens, "max_tokens", 1)
        if not (recall is None or isinstance(recall, str) or callable(recall)):
            raise Invalid(f"recall is {type(recall).__name__}", hint="give a query, or a function that gives one")
        if not (remember is None or isinstance(remember, bool) or callable(remember)):
            raise Invalid(f"remember is {type(remember).__name__}", hint="give True, or a function of the result")
        if not callable(memory):
            _scope(memory)
        self._memory, self._recall, self._remember = memory, recall, remember
        self._kind, self._max_tokens, self._name = kind, max_tokens, name

    def __call__(self, task: F) -> F:
        """The task, with its memory."""
        awaited = is_async(task)
        if inspect.isgeneratorfunction(task) or inspect.isasyncgenfunction(task):
            raise Invalid("a task that yields has no result to remember", hint="use remembering in a with block")
        if not awaited and isinstance(self._memory, AsyncMemory):
            raise Invalid("a plain function can't await its memory", hint="make it an async def, or use memwell.open")
        wrapped: Any = functools.wraps(task)(self._awaited(task) if awaited else self._plain(task))
        signature = inspect.signature(task)
        left = [each for each in signature.parameters.values() if each.name != PARAMETER]
        wrapped.__signature__ = signature.replace(parameters=left)
        return describe(wrapped, memory={"recall": self._recall, "remember": self._remember})  # type: ignore[no-any-return]

    def _plain(self, task: Callable[..., Any]) -> Callable[..., Any]:
        name, signature = _name_of(task, self._name), inspect.signature(task)

        def run(*args: Any, **kwargs: Any) -> Any:
            context = at_once(self._begun(name, args, kwargs, awaited=False))
            result = task(*args, **_with_context(signature, args, kwargs, context))
            at_once(self._ended(context, result, awaited=False))
            return result

        return run

    def _awaited(self, task: Callable[..., Any]) -> Callable[..., Any]:
        name, signature = _name_of(task, self._name), inspect.signature(task)

        async def run(*args: Any, **kwargs: Any) -> Any:
            context = await self._begun(name, args, kwargs, awaited=True)
            result = await task(*args, **_with_context(signature, args, kwargs, context))
            await self._ended(context, result, awaited=True)
            return result

        return run

    def __enter__(self) -> TaskContext:
        if isinstance(self._memory, AsyncMemory):
            raise Invalid("this memory is awaited", hint="use async with")
        return _entered(at_once(self._begun(self._name or "task", (), {}, awaited=False)))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        context = _left()
        if kind is None and context.result is not _UNSET:
            at_once(self._ended(context, context.result, awaited=False))

    async def __aenter__(self) -> TaskContext:
        return _entered(await self._begun(self._name or "task", (), {}, awaited=True))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        context = _left()
        if kind is None and context.result is not _UNSET:
            await self._ended(context, context.result, awaited=True)

    async def _begun(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], awaited: bool) -> TaskContext:
        """What a run of the task is given."""
        memory = _scope(self._memory(*args, **kwargs) if callable(self._memory) else self._memory)
        query = self._recall
        if callable(query):
            query = await called(functools.partial(query, *args, **kwargs), awaited=awaited)
        if query is None:
            return TaskContext(name, memory)
        if not isinstance(query, str):
            raise Invalid(f"recall gave {type(query).__name__}, not a query", hint="let it give text, or None")
        return TaskContext(name, memory, await self._asked(memory, awaited, memory.context, query, self._max_tokens))

    async def _ended(self, context: TaskContext, result: Any, awaited: bool) -> None:
        """Remember what came of a run."""
        said: Any = self._remember
        if callable(said):
            said = await called(said, result, awaited=awaited)
        if said is None or said is False:
            return
        fields = _fields(result if said is True else said, itself=said is True)
        more: Draft = {"kind": self._kind, **fields, "run": context.run, "tool": context.task}  # type: ignore[typeddict-item]
        remember = functools.partial(context.memory.remember, **more)
        context.remembered = await self._asked(context.memory, awaited, remember)

    async def _asked(self, memory: Any, awaited: bool, call: Callable[..., Any], *args: Any) -> Any:
        """A call of the memory; a plain memory does not hold up the loop of a task that is awaited."""
        if is_awaited(memory):
            return await call(*args)
        return await called(call, *args, awaited=awaited)


def _entered(context: TaskContext) -> TaskContext:
    _open.set((*_open.get(), context))
    return context


def _left() -> TaskContext:
    *others, context = _open.get()
    _open.set(tuple(others))
    return context  # type: ignore[no-any-return]


def _with_context(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any], context: TaskContext
) -> dict[str, Any]:
    """The arguments by name, with the context if the task takes it and nobody gave it."""
    try:
        bound = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:  # the call itself says better what is wrong with it
        return kwargs
    takes = PARAMETER in signature.parameters and PARAMETER not in bound
    return {**kwargs, PARAMETER: context} if takes else kwargs


def _scope(memory: Any) -> Any:
    if not isinstance(memory, (Memory, AsyncMemory)):
        raise Invalid(f"the memory is {type(memory).__name__}, which is no scope", hint="give store.scope(...)")
    return memory


def _name_of(task: Callable[..., Any], name: str | None) -> str:
    return name or getattr(task, "__qualname__", type(task).__name__).rpartition("<locals>.")[2]


def _fields(said: Any, itself: bool) -> dict[str, Any]:
    """The fields of the record that a task's result becomes."""
    if isinstance(said, str):
        return {"content": said}
    if itself:
        return {"content": encode(said, JSON_MOST)[0].decode()}
    if not isinstance(said, dict) or not isinstance(said.get("content"), str):
        hint = 'let it give text, {"content": ...}, True or None'
        raise Invalid(f"remember gave {type(said).__name__}, which is no memory", hint=hint)
    unknown = set(said) - {"content"} - (set(Draft.__annotations__) - STAMPED)
    if unknown:
        hint = f"the system sets {', '.join(sorted(STAMPED))}; others are the fields of a record"
        raise Invalid(f"remember gave the field {min(map(str, unknown))!r}", hint=hint)
    return said
