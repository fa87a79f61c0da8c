"""Group commit: writers of one process that wait for each other share one transaction, and so one wait for the disk.

Whoever finds nobody writing leads and runs its own job alone. Whoever finds somebody writing queues a ticket and
sleeps; the next to lead runs all that has gathered in one transaction. It lets the next group begin before it waits for
the disk: one wait covers every group that was committed before it began. A ticket is told its outcome after that.

An interrupt may hit the main thread at any point of this. So the lead is a lock that knows its owner and is let go
by whoever owns it; it is never passed on by hand; and a sleeper looks up now and then, in case nobody woke it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from memwell.errors import Busy, Unavailable
from memwell.store import Done, WriteJob

T = TypeVar("T")
MAX_GROUP = 64
CROWD = 16  # so many groups of one after a larger one mean that the others have gone
GATHER_S = 0.00005
LOOK_UP_S = 0.1
GRACE_S = 5.0


class Alarm:
    """Wakes one sleeper; ringing twice is ringing once. A bare lock: the standard classes cost ten times as much."""

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self, seconds: float = -1) -> None:
        self._lock.acquire(timeout=seconds)

    def ring(self) -> None:
        with suppress(RuntimeError):  # it has rung already
            self._lock.release()


class Ticket:
    """A queued job and what became of it."""

    __slots__ = (
        "alarm", "committed", "deadline", "done", "error", "finished", "job", "next", "number", "result", "single",
    )  # fmt: skip

    def __init__(self, job: WriteJob[Any], single: bool, deadline: float, done: Done | None = None) -> None:
        self.job, self.single, self.deadline, self.done = job, single, deadline, done
        self.result: Any = None
        self.error: BaseException | None = None
        self.committed = self.finished = False
        self.number = 0  # of the commit that it was part of
        self.next: Ticket | None = None  # to be woken by this one
        self.alarm = Alarm()

    def settled(self) -> bool:
        """Whether it was run, with whatever outcome."""
        return self.committed or self.error is not None

    def run(self, how: Callable[[WriteJob[Any]], Any], fatal: tuple[type[Exception], ...] = ()) -> None:
        """Keep what the job gives or raises; a `fatal` error is the group's, not the job's."""
        self.error = None
        try:
            self.result = how(self.job)
        except fatal:
            raise
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            self.error = error


class Flush:
    """Waiting for the disk: a wait covers every commit that was made before it began."""

    def __init__(self, wait_for_disk: Callable[[], None]) -> None:
        self._wait_for_disk = wait_for_disk
        self._lock = threading.Lock()
        self._commits = self._flushed = 0

    def commit(self) -> int:
        """Number a commit; only the leader calls it."""
        self._commits += 1
        return self._commits

    def wait(self, commit: int) -> None:
        """Return when that commit is on disk."""
        with self._lock:
            if self._flushed < commit:
                covered = self._commits
                self._wait_for_disk()
                self._flushed = covered


class Commits:
    """The writers of one store. `alone` runs one job; `together` commits a group of tickets, not yet on disk."""

    def __init__(
        self,
        alone: Callable[[WriteJob[Any], bool, float], Any],
        together: Callable[[list[Ticket]], None],
        wait_for_disk: Callable[[], None],
        durable: bool,
    ) -> None:
        self._durable = durable
        self._alone, self._together = alone, together
        self._flush = Flush(wait_for_disk)
        self._queue: deque[Ticket] = deque()
        self._crowd = self._expected = 0
        self._lead = threading.RLock()
        self._leads = self._lead._is_owned  # type: ignore[attr-defined]  # noqa: SLF001 - as threading.Condition does
        self._work = Alarm()
        self._worker: threading.Thread | None = None
        self._starting = threading.Lock()

    def write(self, job: WriteJob[T], wait: float, single: bool) -> T:
        """Run the job, alone or in a group; a wait of 0 raises Busy rather than sleep."""
        try:
            if not self._crowd and not self._queue and self._lead.acquire(blocking=False):
                return self._alone(job, single, wait)  # type: ignore[no-any-return]
        finally:
            try:
                self._let_go()
            finally:
                if self._leads():
                    self._let_go()
        if wait <= 0:
            raise Busy("another writer is at work")
        return self._queued(Ticket(job, single, time.monotonic() + wait))  # type: ignore[no-any-return]

    def submit(self, job: WriteJob[Any], wait: float, single: bool, done: Done) -> None:
        """Queue the job for the writer thread and return at once; `done` is called from there."""
        if self._worker is None:
            self._start()
        self._queue.append(Ticket(job, single, time.monotonic() + wait, done))
        self._work.ring()

    def _queued(self, ticket: Ticket) -> Any:
        try:
            self._queue.append(ticket)
            while not ticket.finished:
                if not self._run_group():
                    ticket.alarm.wait(LOOK_UP_S)
                    self._check_patience(ticket)
        except BaseException:
            self._leave(ticket)
            raise
        finally:
            if ticket.next is not None:
                ticket.next.alarm.ring()
        if ticket.error is not None:
            raise ticket.error
        return ticket.result

    def _run_group(self) -> bool:
        """If nobody leads, lead: commit what has gathered, let the next begin, wait for the disk, tell all.

        False if there was nothing to do here: somebody else leads, or has taken all there was.
        """
        group: list[Ticket] = []
        try:
            if self._lead.acquire(blocking=False):
                self._gather(group)
                if group:
                    self._crowd = CROWD if len(group) > 1 else max(0, self._crowd - 1)
                    self._together(group)
        finally:
            # Twice, because one interrupt can cut short only one of them; whatever has been done is not done again.
            try:
                self._conclude(group)
            finally:
                self._conclude(group)
        return bool(group)

    def _gather(self, group: list[Ticket]) -> None:
        """Take what is queued. In a crowd, first let those who were just told come back, as long as they do."""
        seen = 0
        while self._crowd and self._durable and seen < len(self._queue) < self._expected:
            seen = len(self._queue)
            time.sleep(GATHER_S)
        while self._queue and len(group) < MAX_GROUP:
            group.append(self._queue.popleft())
        self._expected = max(len(group), self._expected - 1)

    def _conclude(self, group: list[Ticket]) -> None:
        """Put back what was not run, let the next lead, and when the disk has the rest, tell those who wait."""
        if self._leads():
            number = self._flush.commit() if any(ticket.committed for ticket in group) else 0
            for ticket in reversed(group):
                if not ticket.settled() and ticket not in self._queue:
                    self._queue.appendleft(ticket)
                ticket.number = number
            self._let_go()
        if group:
            self._tell([ticket for ticket in group if ticket.settled() and not ticket.finished])

    def _tell(self, group: list[Ticket]) -> None:
        try:
            for ticket in group[:1]:
                self._flush.wait(ticket.number)
        except OSError as error:
            for ticket in group:
                ticket.error = Unavailable(
                    f"the disk failed while the write was being made safe: {error.strerror}",
                    hint="it may or may not be kept: read it back",
                )
        first: Ticket | None = None
        for ticket in reversed(group):
            if ticket.done is None:
                ticket.next, first = first, ticket
            else:
                ticket.done(ticket.result, ticket.error)
            ticket.finished = True
        # Only the first is woken, and each wakes the next: woken all at once, they would fight for the interpreter.
        if first is not None:
            first.alarm.ring()

    def _let_go(self) -> None:
        """If this thread leads, stop leading and wake the next in the queue."""
        while self._leads():
            self._lead.release()
            if self._queue:
                self._wake_next()

    def _wake_next(self) -> None:
        with suppress(IndexError):
            head = self._queue[0]
            (head.alarm if head.done is None else self._work).ring()

    def _leave(self, ticket: Ticket) -> None:
        """An interrupted waiter takes its ticket back, unless its job has been run."""
        with suppress(ValueError):
            self._queue.remove(ticket)
        self._wake_next()

    def _check_patience(self, ticket: Ticket) -> None:
        """Past its deadline a ticket that is still queued is refused; one that was taken gets a little longer."""
        late = time.monotonic() - ticket.deadline
        if late < 0 or ticket.finished:
            return
        if ticket in self._queue:
            raise Busy("other writers held the store for too long", hint="try again, or raise busy_timeout")
        if late > GRACE_S:
            raise Unavailable("the writer that had taken this write over is gone", hint="read it back: it may be kept")

    def _start(self) -> None:
        with self._starting:
            if self._worker is None:
                self._worker = threading.Thread(target=self._serve, name="memwell-writer", daemon=True)
                self._worker.start()

    def _serve(self) -> None:
        while True:
            self._work.wait()
            if self._worker is None:
                return
            while self._queue:
                with self._lead:  # wait for the turn; then it is this thread's at once
                    pass
                self._run_group()

    def pause(self, patience: float) -> None:
        """Let the running group finish and keep the lead, so that nothing is written until `resume`."""
        self._lead.acquire(timeout=patience)

    def resume(self) -> None:
        """Let writers go on."""
        self._let_go()

    def close(self) -> None:
        """Stop the writer thread once it has run what was submitted."""
        worker = self._worker
        if worker is not None:
            drained = threading.Event()
            self.submit(lambda _: None, GRACE_S, True, lambda *_: drained.set())
            drained.wait(GRACE_S)
            self._worker = None
            self._work.ring()
            worker.join()
