"""The shipped suite on `ram`."""

from __future__ import annotations

from memwell.testing import BackendTests


class TestRam(BackendTests):
    def make(self, tmp_path):
        return ":memory:"

    def raw(self, backend, scope, key):
        cell = backend._scopes[scope].rows[("fact", key)].cell
        return cell and cell.data
