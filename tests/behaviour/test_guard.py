"""Who may do what: every op of every caller passes the guard, and every op is seen by the observer."""

from __future__ import annotations

import pytest

from memwell import Denied, Invalid, ops
from memwell.config import Settings
from memwell.engine import HANDLERS, Engine
from memwell.engine.guard import Caller
from memwell.ops import Op
from memwell.store.ram import Ram
from memwell.testing import promise
from memwell.types import Line

OWNER, STRANGER = Caller("owner", owner=True), Caller("stranger")
LINE = Line(scope="agent:a", shape="fact", key="k", value=1, version=1, created=1, updated=1, by="x")

# One of each. A new op has no case here until somebody has thought about who may do it.
CASES = {
    type(op): op
    for op in (
        ops.Get("agent:a", "k"),
        ops.GetEntry("agent:a", "k"),
        ops.GetMany("agent:a", ["k"]),
        ops.Set("agent:a", "k", 1),
        ops.SetMany("agent:a", {"k": 1}),
        ops.Delete("agent:a", "k"),
        ops.List("agent:a"),
        ops.Entries("agent:a"),
        ops.Clear("agent:a"),
        ops.History("agent:a", "k"),
        ops.Revert("agent:a", "k", 1),
        ops.Batch("agent:a", [ops.Set("agent:a", "k", 1)]),
        ops.Remember("agent:a", ops.NewRecord(content="x")),
        ops.RememberMany("agent:a", [ops.NewRecord(content="x")]),
        ops.ReadRecord("agent:a", "r"),
        ops.RecordHistory("agent:a", "r"),
        ops.Update("agent:a", "r", {"pinned": True}),
        ops.Supersede("agent:a", "r", ops.NewRecord(content="x")),
        ops.DeleteRecord("agent:a", "r"),
        ops.Restore("agent:a", "r"),
        ops.HardDelete("agent:a", "r"),
        ops.Review("agent:a", "r", approve=True),
        ops.Pending(),
        ops.ListRecords("agent:a"),
        ops.Search("agent:a", "x"),
        ops.Pack("agent:a", "x"),
        ops.ExportRecords("agent:a"),
        ops.Forget("a source"),
        ops.CreateThread("agent:a"),
        ops.ListThreads("agent:a"),
        ops.GetThread("agent:a", "t"),
        ops.UpdateThread("agent:a", "t", {"title": "x"}),
        ops.ForkThread("agent:a", "t"),
        ops.DeleteThread("agent:a", "t"),
        ops.Append("agent:a", "t", [ops.NewMessage(role="user", content="x")]),
        ops.ReadMessages("agent:a", "t"),
        ops.CountMessages("agent:a", "t"),
        ops.EditMessage("agent:a", "t", 1, {"content": "x"}),
        ops.DeleteMessages("agent:a", "t"),
        ops.SearchMessages("agent:a", "x"),
        ops.Cover("agent:a", "t", 1, 2, "x", "digest"),
        ops.Uncover("agent:a", "t", 1),
        ops.Overlays("agent:a", "t"),
        ops.Embed(),
        ops.Reindex(),
        ops.Changes("agent:a"),
        ops.DeleteScope("agent:a"),
        ops.Scopes(),
        ops.GetStats(),
        ops.Sweep(),
        ops.Dump(),
        ops.Load([LINE]),
        ops.Check(),
        ops.Backup("/nowhere/copy.db"),
        ops.Describe(),
    )
}


def concrete(kind=Op):
    """Every op that can be sent: those with a name on the wire."""
    for each in kind.__subclasses__():
        yield from concrete(each)
        if each.__struct_config__.tag is not None and "domain" in dir(each) and not each.__subclasses__():
            yield each


OPS = sorted(set(concrete()), key=lambda op: op.__name__)


@promise("guard:deny")
def test_every_op_has_a_case_and_a_handler():
    assert set(OPS) == CASES.keys() == HANDLERS.keys()


@pytest.mark.parametrize("kind", OPS, ids=lambda kind: kind.__name__)
@promise("guard:deny")
def test_a_stranger_is_denied_every_op_and_is_told_nothing(kind):
    backend = Ram()
    engine = Engine(backend, Settings())
    refusals = []
    for exists in (False, True):
        if exists:
            engine.apply(OWNER, ops.Set("agent:a", "k", "secret"))
        with pytest.raises(Denied) as refusal:
            engine.apply(STRANGER, CASES[kind])
        refusals.append((str(refusal.value), refusal.value.capability))
        with pytest.raises(Denied):
            engine.submit(STRANGER, CASES[kind], lambda *_: None)
    assert refusals[0] == refusals[1]
    assert refusals[0][1] == f"{kind.domain}.{kind.action}"
    assert engine.apply(OWNER, ops.Get("agent:a", "k")) == "secret"
    assert len(engine.apply(OWNER, ops.History("agent:a", "k"))) == 1
    engine.close()


@pytest.mark.parametrize("kind", OPS, ids=lambda kind: kind.__name__)
@promise("guard:deny")
def test_every_op_says_what_it_needs(kind):
    assert kind.domain in {"memory", "record", "thread", "admin"}
    assert kind.action in {"read", "write"}
    assert kind.__struct_config__.tag_field == "op"
    assert kind.__doc__


@promise("guard:deny")
def test_every_op_has_a_name_of_its_own():
    names = [kind.__struct_config__.tag for kind in OPS]
    assert len(set(names)) == len(names)


@promise("guard:first")
def test_the_guard_comes_before_everything_else():
    engine = Engine(Ram(), Settings())
    for op in (ops.Get("no scope", "k"), ops.Set("agent:a", "", float("nan")), ops.List("agent:a", limit=0)):
        with pytest.raises(Denied):
            engine.apply(STRANGER, op)
        with pytest.raises(Invalid):
            engine.apply(OWNER, op)
    engine.close()


@promise("guard:batch")
def test_every_op_of_a_batch_passes_the_guard_before_any_is_applied():
    asked = []

    def guard(caller, op):
        asked.append(type(op))
        if isinstance(op, ops.Delete):
            raise Denied("no", capability="memory.write")

    engine = Engine(Ram(), Settings(), guard)
    engine.apply(STRANGER, ops.Set("agent:a", "k", 1))
    asked.clear()
    with pytest.raises(Denied):
        engine.apply(STRANGER, ops.Batch("agent:a", [ops.Set("agent:a", "k", 2), ops.Delete("agent:a", "k")]))
    assert asked == [ops.Batch, ops.Set, ops.Delete]
    assert engine.apply(STRANGER, ops.Get("agent:a", "k")) == 1
    engine.close()


@promise("guard:caller")
def test_a_handle_acts_for_the_caller_it_was_made_for():
    seen = []
    engine = Engine(Ram(), Settings(), lambda caller, op: seen.append(caller.name))
    for name in ("anna", "bob"):
        assert engine.apply(Caller(name), ops.Set("agent:a", "k", name)).written_by == name
    assert seen == ["anna", "bob"]
    engine.close()


@promise("engine:observe")
def test_the_observer_sees_every_op_how_long_it_took_and_how_it_ended():
    seen = []
    engine = Engine(Ram(), Settings(), observe=lambda op, seconds, error: seen.append((type(op), seconds, error)))
    engine.apply(OWNER, ops.Set("agent:a", "k", 1))
    engine.apply(OWNER, ops.Get("agent:a", "k"))
    with pytest.raises(Invalid):
        engine.apply(OWNER, ops.Get("agent:a", ""))
    with pytest.raises(Denied):
        engine.apply(STRANGER, ops.Get("agent:a", "k"))
    engine.submit(OWNER, ops.Set("agent:a", "k", 2), lambda *_: None)
    assert [kind for kind, _, _ in seen] == [ops.Set, ops.Get, ops.Get, ops.Get, ops.Set]
    assert all(seconds >= 0 for _, seconds, _ in seen)
    assert [type(error) for _, _, error in seen] == [type(None), type(None), Invalid, Denied, type(None)]
    engine.close()


@promise("engine:unknown")
def test_an_op_that_nobody_handles_is_an_error():
    from memwell.errors import Unsupported

    class Fly(Op[None], frozen=True, tag="test.fly"):
        domain = "memory"
        action = "read"

    try:
        engine = Engine(Ram(), Settings())
        with pytest.raises(Unsupported, match="Fly"):
            engine.apply(OWNER, Fly())
        engine.close()
    finally:
        del Fly
