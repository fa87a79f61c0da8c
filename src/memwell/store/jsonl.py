"""JSON lines: an append-only log that people can read, folded into dicts; shared by processes, safe to kill."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from memwell import clock
from memwell.config import Settings
from memwell.errors import Corrupt, Invalid, Unavailable
from memwell.forks import begins_anew
from memwell.parts import flush, flush_folder, part_file
from memwell.store import Done, Progress, ReadJob, Traits, WriteJob
from memwell.store.jsonl_fold import Derive, Folded
from memwell.store.jsonl_lines import FORMAT, damage, sealed, transactions
from memwell.store.jsonl_log import Log, translate
from memwell.store.undoing import Undoing
from memwell.types import Damage, Health

T = TypeVar("T")
DEAD_LEAST = 200  # lines that say nothing any more, before they are worth a new file


class Jsonl(Folded):
    """A store in one file of JSON lines. The dicts are what the file says; if `_stale`, they must be made anew."""

    def __init__(self, path: str, settings: Settings) -> None:
        super().__init__()
        if not path:
            raise Invalid("the store has no file", hint="give a path such as jsonl:memory.jsonl")
        self.path = str(Path(path).expanduser().absolute())
        self.settings = settings
        self._stale = True
        self._log = Log(self.path, settings.durability == "full")
        begins_anew(self)

    def begin_process(self) -> None:
        """In the child after a fork: other threads may have been anywhere, so nothing of theirs is trusted."""
        closed, self._jobs = self._jobs.closed, Undoing(self)
        self._jobs.closed, self._jobs.undo = closed, self._undo
        self._undo.clear()
        self._journal, self._stale = None, True
        self._log.close()

    def derive_by(self, derive: Derive) -> None:
        """Say what search finds a cell by: then the lines need not, and what people write by hand is found too."""
        with self._jobs.lock:
            self.derive, self._stale = derive, True

    @property
    def traits(self) -> Traits:
        durability = "power-safe" if self.settings.durability == "full" else "crash-safe"
        return Traits("jsonl", inline=False, inline_writes=False, shared=True, durability=durability)

    # Reading and writing

    def read(self, job: ReadJob[T], wait: float, snapshot: bool = False) -> T:  # noqa: ARG002
        deadline = time.monotonic() + wait

        def fresh(_: object) -> T:
            with self._translated():
                self._catch_up(deadline)
            return job(self)

        return self._jobs.read(fresh)

    def write(self, job: WriteJob[T], wait: float, single: bool = False) -> T:  # noqa: ARG002
        deadline = time.monotonic() + wait  # of threads that queue here, all give up at the same moment
        return self._jobs.write(lambda _: self._transact(job, deadline))

    def submit(self, job: WriteJob[Any], wait: float, single: bool, done: Done) -> None:
        try:
            result = self.write(job, wait, single)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            done(None, error)
        else:
            done(result, None)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise translate(error, self.path) from None

    def _transact(self, job: WriteJob[T], deadline: float) -> T:
        with self._locked(deadline):
            counters = self._rev, self._last, self._seq
            self._undo.append(lambda: self._count_from(*counters))
            journal: list[dict[str, Any]] = []
            self._journal, self._erased = journal, False
            self._puts.clear()
            self._stale = True  # if this is interrupted at any place, the dicts are made anew from the file
            try:
                result = job(self)
            except Exception:
                # Vectors are not undone; everything else is, by the one who called.
                self._stale = any(line["op"] == "vector" for line in journal)
                raise
            finally:
                self._journal = None
            self._commit(journal)
            self._undo.clear()
            self._stale = False
            return result

    def _count_from(self, rev: int, last: int, seq: int) -> None:
        self._rev, self._last, self._seq = rev, last, seq

    def _commit(self, journal: list[dict[str, Any]]) -> None:
        """Write down what the job did."""
        with self._translated():
            if self._erased:  # what was erased must be gone from the file too
                self._rewrite()
                self._log.drop_torn()
            elif journal:
                self._append(journal)

    def _append(self, journal: list[dict[str, Any]]) -> None:
        if len(journal) > 1:
            journal[-1]["lines"] = len(journal)
        lines = [sealed({**fields, "more": True}) for fields in journal[:-1]] + [sealed(journal[-1])]
        if self._log.place.offset == 0:
            lines.insert(0, sealed({"op": "head", "format": FORMAT}))
        self._log.append(b"".join(lines), len(lines))

    def _rewrite(self) -> None:
        lines = [sealed(fields) for fields in self.lines()]
        if self._log.torn:
            self._log.cut()
        self._log.replace(b"".join(lines), len(lines))

    @contextmanager
    def _locked(self, deadline: float) -> Iterator[None]:
        """Alone with the file, and up to date with it."""
        with self._log.locked(deadline):
            with self._translated():
                self._log.tidy()
                if self._stale or self._log.changed():
                    self._fold_rest()
            yield

    # What others wrote

    def _catch_up(self, deadline: float) -> None:
        if self._stale or self._log.changed():
            with self._log.locked(deadline, exclusive=False):
                self._fold_rest()

    def _fold_rest(self) -> None:
        self._journal = None
        if self._stale:
            self._begin_anew()
        while (data := self._log.rest()) is None:
            self._begin_anew()
        self._stale = True
        end, (_, lines, _, ended) = 0, self._log.place
        mtime = self._log.mtime()
        for transaction in transactions(data, lines, self.path):
            for number, line in transaction.lines:
                self.fold(number, line, self.path, mtime)
            self._undo.clear()
            end, lines, ended = transaction.end, transaction.number, transaction.whole
        self._log.reached(data, end, lines, ended)
        self._stale = False

    def _begin_anew(self) -> None:
        self._log.forget()
        self.begin_anew()

    # Upkeep

    def _alone(self, work: Callable[[], T]) -> T:
        """Do what can't be undone step by step; if it fails, the dicts are made anew from the file."""

        deadline = self._deadline()

        def job(_: object) -> T:
            with self._locked(deadline):
                self._stale = True
                with self._translated():
                    result = work()
                self._stale = False
                return result

        return self._jobs.write(job)

    def _deadline(self) -> float:
        return time.monotonic() + self.settings.busy_timeout

    def sweep(self, now: int, before: int | None, limit: int) -> tuple[int, bool]:
        return self._alone(lambda: self._swept(now, before, limit))

    def _swept(self, now: int, before: int | None, limit: int) -> tuple[int, bool]:
        events = self._events()
        expired = any(event.data is not None and event.expires is not None and event.expires <= now for event in events)
        swept = super().sweep(now, before, limit)
        left = len(self._events())
        if expired or self._log.place.lines > max(2 * left, left + DEAD_LEAST):
            self._rewrite()  # what has expired is gone from the file too
        elif left < len(events):
            at = {"at": clock.moment(now)} | ({} if before is None else {"before": clock.moment(before)})
            self._append([{"op": "sweep", **at}])
        return swept

    def compact(self) -> int:
        """Forget all history and write the file anew with what is current; how many bytes that freed."""

        def work() -> int:
            before = Path(self.path).stat().st_size
            super(Jsonl, self).sweep(clock.now(), clock.LATEST, 0)
            self._rewrite()
            return before - Path(self.path).stat().st_size

        return self._alone(work)

    def _events(self) -> list[Any]:
        return [event for held in self._scopes.values() for event in held.events]

    def next_expiry(self) -> int | None:
        def job(_: object) -> int | None:
            moments = (event.expires for event in self._events() if event.data is not None)
            return min((moment for moment in moments if moment is not None), default=None)

        with suppress(Corrupt):  # a damaged log can be opened, so that `check` can name what is damaged
            return self.read(job, self.settings.busy_timeout)
        return None

    def check(self, progress: Progress | None) -> Health:
        def job(_: object) -> Health:
            with self._translated():
                with self._log.locked(self._deadline(), exclusive=False):
                    data = self._log.whole()
                checked, found = damage(data, self.path)
                if not found:
                    try:
                        self._catch_up(self._deadline())
                    except Corrupt as error:
                        found.append(Damage(where=self.path, problem=str(error)))
                return Health(checked=checked, damage=[*found, *self._torn_damage()])

        health = self._jobs.read(job)
        if progress:
            progress(health.checked, health.checked)
        return health

    def _torn_damage(self) -> Iterator[Damage]:
        if self._log.torn:
            problem = f"the last write was not finished; the next one keeps its bytes in {self._log.torn_path}"
            yield Damage(where=f"the last {self._log.torn} bytes of {self.path}", problem=problem)
        if cut := self._log.cut_bytes():
            problem = f"{cut} bytes of writes that were not finished are kept here: look at them, then remove the file"
            yield Damage(where=self._log.torn_path, problem=problem)

    def backup(self, path: str, progress: Progress | None) -> int:
        target = Path(path).expanduser().absolute()

        def job(_: object) -> bytes:
            with self._translated(), self._log.locked(self._deadline(), exclusive=False):
                return self._log.whole()[: self._log.place.offset]

        data = self.read(job, self.settings.busy_timeout)
        try:
            with part_file(target) as part:
                with part.open("wb") as out:
                    out.write(data)
                    out.flush()
                    flush(out.fileno())
                os.link(part, target)  # unlike a rename, this never overwrites
            flush_folder(target.parent)
        except FileExistsError:
            raise Invalid(f"{target} exists already", hint="name a new file; a backup never overwrites") from None
        except OSError as error:
            raise Unavailable(f"{target} can't be written: {error.strerror}", hint="choose another folder") from None
        if progress:
            progress(len(data), len(data))
        return len(data)

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = {"path": self.path, "format": FORMAT}
        try:
            self.read(lambda _: None, self.settings.busy_timeout)
        except Corrupt as error:
            found["damage"] = str(error)
        with self._translated():
            status = Path(self.path).stat()
            found |= {"mode": oct(status.st_mode & 0o777), "bytes": status.st_size, "lines": self._log.place.lines}
            torn = self._log.torn + self._log.cut_bytes()
        return {**found, "torn": {"bytes": torn, "kept_in": self._log.torn_path}} if torn else found

    def close(self) -> None:
        with self._jobs.lock:
            self._jobs.closed = True
            self._log.close()
