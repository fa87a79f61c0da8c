"""Group commit: writers of one process that wait for each other share one transaction, and so one wait for the disk.

Whoever finds nobody writing leads: it runs its own job alone. Whoever finds somebody writing queues a ticket and
sleeps; the leader, when done, hands on to the first in the queue, which runs all that has gathered in one transaction.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from memwell.errors import Busy
from memwell.store import Done, WriteJob

T = TypeVar("T")
MAX_GROUP = 64


class Ticket:
    """A queued job and what became of it."""

    __slots__ = ("_sleep", "deadline", "done", "error", "finished", "job", "leads", "result", "single")

    def __init__(self, job: WriteJob[Any], single: bool, deadline: float, done: Done | None = None) -> None:
        self.job, self.single, self.deadline, self.done = job, single, deadline, done
        self.result: Any = None
        self.error: BaseException | None = None
        self.finished = False
        self.leads = False
        self._sleep = threading.Lock()
        self._sleep.acquire()

    def run(self, how: Callable[[WriteJob[Any]], Any], fatal: type[Exception] | tuple[()] = ()) -> None:
        """Keep what the job gives or raises; a `fatal` error is the group's, not the job's."""
        self.error = None
        try:
            self.result = how(self.job)
        except fatal:
            raise
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            self.error = error

    def sleep(self) -> None:
        """Wait until the job has run or it is this ticket's turn to lead."""
        self._sleep.acquire()

    def wake(self) -> None:
        self._sleep.release()

    def finish(self) -> None:
        """Tell whoever waits that the outcome is there."""
        self.finished = True
        if self.done is None:
            self.wake()
        else:
            self.done(self.result, self.error)


class Commits:
    """The queue of one store's writers. `alone` runs one job, `together` a group of tickets in one transaction."""

    def __init__(
        self,
        alone: Callable[[WriteJob[Any], bool, float], Any],
        together: Callable[[list[Ticket], float], None],
    ) -> None:
        self._alone, self._together = alone, together
        self._queue: deque[Ticket] = deque()
        self._mutex = threading.Lock()
        self._leading = threading.Lock()
        self._work = threading.Semaphore(0)
        self._worker: threading.Thread | None = None
        self._pausing = self._paused = False

    def write(self, job: WriteJob[T], wait: float, single: bool) -> T:
        """Run the job, alone or in a group; a wait of 0 raises Busy rather than sleep."""
        if self._leading.acquire(blocking=False):
            try:
                result: T = self._alone(job, single, wait)
            finally:
                self._hand_on()
            return result
        if wait <= 0:
            raise Busy("another writer is at work")
        return self._queued(job, single, wait)

    def submit(self, job: WriteJob[Any], wait: float, single: bool, done: Done) -> None:
        """Queue the job for the writer thread and return at once; `done` is called from there."""
        if self._worker is None:
            self._start()
        self._queue.append(Ticket(job, single, time.monotonic() + wait, done))
        if self._leading.acquire(blocking=False):
            self._work.release()

    def _queued(self, job: WriteJob[T], single: bool, wait: float) -> T:
        ticket = Ticket(job, single, time.monotonic() + wait)
        self._queue.append(ticket)
        if not self._leading.acquire(blocking=False):
            try:
                ticket.sleep()
            except BaseException:
                self._abandon(ticket)
                raise
        if not ticket.finished:
            self._lead()
        if ticket.error is not None:
            raise ticket.error
        result: T = ticket.result
        return result

    def _lead(self) -> None:
        """Run what has gathered, as the holder of the lead, then hand on."""
        group: list[Ticket] = []
        try:
            with self._mutex:
                while self._queue and len(group) < MAX_GROUP:
                    group.append(self._queue.popleft())
            if group:
                self._together(group, max(ticket.deadline for ticket in group) - time.monotonic())
        except BaseException:
            with self._mutex:
                self._queue.extendleft(ticket for ticket in reversed(group) if not ticket.finished)
            raise
        finally:
            self._hand_on()

    def _hand_on(self) -> None:
        while True:
            with self._mutex:
                if self._queue and not self._pausing:
                    head = self._queue[0]
                    if head.done is not None:
                        self._work.release()
                    else:
                        head.leads = True
                        head.wake()
                    return
                self._leading.release()
            # A ticket that came between the look and the release found the lead taken: look again for it.
            if not self._queue or self._pausing or not self._leading.acquire(blocking=False):
                return

    def _abandon(self, ticket: Ticket) -> None:
        """An interrupted waiter leaves the queue; if the lead was already its own, it goes to the next."""
        with self._mutex:
            try:
                self._queue.remove(ticket)
            except ValueError:
                return
        if ticket.leads:
            self._hand_on()

    def _start(self) -> None:
        with self._mutex:
            if self._worker is None:
                self._worker = threading.Thread(target=self._serve, name="memwell-writer", daemon=True)
                self._worker.start()

    def _serve(self) -> None:
        while True:
            self._work.acquire()
            if self._worker is None:
                return
            self._lead()

    def pause(self, patience: float) -> None:
        """Let the running group finish and keep the lead, so that nothing is written until `resume`."""
        self._pausing = True
        self._paused = self._leading.acquire(timeout=patience)

    def resume(self) -> None:
        """Let writers go on."""
        self._pausing = False
        if self._paused:
            self._paused = False
            self._hand_on()

    def close(self) -> None:
        """Stop the writer thread once it has run what was submitted."""
        worker = self._worker
        if worker is not None:
            drained = threading.Event()
            self.submit(lambda _: None, 0, True, lambda *_: drained.set())
            drained.wait()
            self._worker = None
            self._work.release()
            worker.join()
