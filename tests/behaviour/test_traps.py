"""Each trap that a real system fell into is put back here, and the test that guards against it must fail."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from memwell import Invalid, Scope, codec
from memwell.engine import records
from memwell.scope import canonical
from memwell.store.ram import Ram
from memwell.store.sqlite.rows import Rows
from memwell.testing import frozen_clock, opened, promise
from memwell.testing.expiry import ExpiryTests
from memwell.testing.facts import FactTests
from memwell.testing.origins import OriginTests
from memwell.testing.values import ValueTests
from memwell.types import Provenance
from promises import PROMISES

from . import test_scope

FAILED = (AssertionError, pytest.fail.Exception)


def an_empty_id_is_left_out(patch):
    real = Scope.__init__

    def lenient(self, /, **fields):
        named = {name: value for name, value in fields.items() if value}
        real(self, **named) if named else self._fill({}, "global")

    patch.setattr(Scope, "__init__", lenient)


def an_unknown_kind_is_global(patch):
    real = Scope.parse

    def lenient(text):
        try:
            return real(text)
        except Invalid:
            return Scope.shared()

    patch.setattr(Scope, "parse", staticmethod(lenient))


def the_callers_object_is_kept(patch):
    real = codec.encode
    patch.setattr(codec, "encode", lambda value, limit: (real(value, limit)[0], value))


def readers_share_an_object(patch):
    real, known = codec.decode, {}
    patch.setattr(codec, "decode", lambda data: known[data] if data in known else known.setdefault(data, real(data)))


def whatever_json_makes_of_it_is_stored(patch):
    patch.setattr(codec, "encode", lambda value, limit: (codec.to_json(value), codec.decode(codec.to_json(value))))


def a_delete_removes_the_row(patch):
    drop_row, drop_rows = Ram._drop, Rows.drop

    def ram(self, held, row, drop):
        dropped = drop_row(self, held, row, drop)
        held.rows.pop((drop.shape, drop.key), None)
        return dropped

    def rows(self, drop):
        dropped = drop_rows(self, drop)
        self.execute("DELETE FROM cells WHERE value IS NULL")
        return dropped

    patch.setattr(Ram, "_drop", ram)
    patch.setattr(Rows, "drop", rows)


def a_prefix_is_a_sql_pattern(patch):
    cells_of = {Ram: Ram.cells, Rows: Rows.cells}

    def like(kind):
        def cells(self, scope, shape, span, limit, now):
            wild = re.escape(span.first).replace("_", ".").replace("%", ".*")
            found = cells_of[kind](self, scope, shape, span._replace(first="", end=None), None, now)
            return iter([cell for cell in found if re.match(wild, cell.key, re.IGNORECASE)][:limit])

        return cells

    for kind in cells_of:
        patch.setattr(kind, "cells", like(kind))
        patch.setattr(kind, "keys", lambda self, *args: (cell.key for cell in self.cells(*args)))


def expiry_waits_for_the_collector(patch):
    def timeless(real):
        return lambda self, *args: real(self, *args[:-1], 0)

    for kind in (Ram, Rows):
        for name in ("data", "cell", "cells", "keys", "past", "counts"):
            patch.setattr(kind, name, timeless(getattr(kind, name)))


def a_model_writes_its_own_provenance(patch):
    real = records.draft

    def lenient(new, context):
        body = real(new, context)
        said = {name: value for name, value in body.provenance.claimed.items() if name in Provenance.__struct_fields__}
        return replace(body, provenance=replace(body.provenance, **said))

    patch.setattr(records, "draft", lenient)


def _scope_of_nobody(store, mem, clock, tmp_path):
    test_scope.test_a_doubtful_field_is_an_error({"agent": "a", "user": ""})


def _scope_of_nobody_in_a_store(store, mem, clock, tmp_path):
    test_scope.test_a_store_refuses_a_doubtful_scope_and_nothing_is_seen_or_changed(store)


def _own_copies(store, mem, clock, tmp_path):
    ValueTests().test_a_value_is_the_callers_own_copy(mem)


def _refused(value):
    refused = ValueTests().test_what_is_not_json_is_refused_by_its_path_before_anything_is_written
    return lambda store, mem, clock, tmp_path: refused(mem, "$", value)


def _versions(store, mem, clock, tmp_path):
    FactTests().test_a_deleted_key_goes_on_after_its_last_version(mem)


def _prefixes(store, mem, clock, tmp_path):
    FactTests().test_a_prefix_is_literal_and_case_sensitive(mem, "user_")


def _expiry(store, mem, clock, tmp_path):
    ExpiryTests().test_an_expired_fact_is_gone_for_every_read(store, clock, tmp_path)


def _expired_history(store, mem, clock, tmp_path):
    ExpiryTests().test_an_expired_value_is_gone_from_history_while_its_event_stays(store, clock)


def _claims(store, mem, clock, tmp_path):
    OriginTests().test_what_a_model_claims_is_kept_apart(store)


TRAPS = [
    ("trap:scope:empty", an_empty_id_is_left_out, _scope_of_nobody),
    ("trap:scope:empty", an_empty_id_is_left_out, _scope_of_nobody_in_a_store),
    ("trap:scope:kind", an_unknown_kind_is_global, _scope_of_nobody_in_a_store),
    ("trap:value:live", the_callers_object_is_kept, _own_copies),
    ("trap:value:live", readers_share_an_object, _own_copies),
    ("trap:value:changed", whatever_json_makes_of_it_is_stored, _refused(float("nan"))),
    ("trap:value:changed", whatever_json_makes_of_it_is_stored, _refused(datetime(2030, 1, 1, tzinfo=UTC))),
    ("trap:version:back", a_delete_removes_the_row, _versions),
    ("trap:list:wildcard", a_prefix_is_a_sql_pattern, _prefixes),
    ("trap:ttl:readable", expiry_waits_for_the_collector, _expiry),
    ("trap:ttl:readable", expiry_waits_for_the_collector, _expired_history),
    ("trap:record:provenance", a_model_writes_its_own_provenance, _claims),
]
NAMES = [f"{trap.__name__}-{number}" for number, (_, trap, _) in enumerate(TRAPS)]


@pytest.fixture(autouse=True)
def fresh_scopes():
    """Scopes that were spelled under a trap must not be remembered."""
    canonical.cache_clear()
    yield
    canonical.cache_clear()


@pytest.mark.parametrize("where", [":memory:", "memory.db"])
@pytest.mark.parametrize(("_", "trap", "check"), TRAPS, ids=NAMES)
@promise("traps:guarded")
def test_a_trap_put_back_is_caught(_, trap, check, where, tmp_path):
    def passes():
        url = where if where.startswith(":") else tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        with frozen_clock() as clock, opened("sync", url, durability="fast") as store:
            check(store, store.scope(agent="a"), clock, tmp_path)

    passes()
    with pytest.MonkeyPatch.context() as patch:
        trap(patch)
        with pytest.raises(FAILED):
            passes()
    canonical.cache_clear()
    passes()


@promise("traps:guarded")
def test_every_trap_is_put_back_here():
    assert {name for name, _, _ in TRAPS} == {name for name in PROMISES if name.startswith("trap:")}
