"""`memwell demo`: a tour on a scratch store. The code that is shown is the code that runs."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from pprint import pformat
from typing import Any

import click
import msgspec

import memwell
from memwell.agent.summarizer import Summarizer
from memwell.cli import show
from memwell.cli.options import Command, chosen

NEXT = """\
memwell memory write my-agent config '{"theme": "dark"}'
memwell memory read my-agent config
memwell memory watch my-agent          # then write from another terminal
memwell record add agent:my-agent "Prefers short reviews" --kind profile
memwell record search agent:my-agent "how to review"
memwell thread new agent:my-agent "Release planning"
memwell doctor                         # where your memory is, and how it is
memwell --help"""


class Step(msgspec.Struct, frozen=True):
    """A sentence, the code that shows it, and what came out."""

    title: str
    code: str
    result: Any


def survives(path: str) -> Any:
    """A fact goes into a file, and whoever opens the file next finds it."""
    with memwell.open(path, by="ann") as store:
        store.scope(agent="demo").set("theme", {"dark": True})
    with memwell.open(path) as store:
        return store.scope(agent="demo").get("theme")


def compares(mem: Any) -> Any:
    """Of two writers of one version, one wins; the other learns what is there."""
    mem.set("leader", "ann", if_version=0)  # 0: only if there is none
    try:
        mem.set("leader", "bob", if_version=0)
    except memwell.Conflict as conflict:
        return conflict.message, conflict.current.value


def expires(mem: Any) -> Any:
    """A value with a time to live is gone, everywhere, when it expires."""
    mem.set("token", "abc123", ttl=0.05)
    before = mem.get("token")
    time.sleep(0.06)
    return before, mem.get("token", default="gone")


def remembers(mem: Any) -> Any:
    """Every write is kept, with who did what."""
    mem.set("theme", {"dark": False})
    mem.delete("theme")
    return [(was.version, was.op, was.value, was.by) for was in mem.history("theme")]


def reverts(mem: Any) -> Any:
    """An old value comes back as a new version."""
    entry = mem.revert("theme", 1)
    return entry.version, entry.value


def looks_back(mem: Any) -> Any:
    """The past stays readable: the theme after each of the six writes so far."""
    return [mem.get("theme", at=rev) for rev in range(1, 7)]


def watches(mem: Any) -> Any:
    """A watcher sees every change in order, from where it left off."""
    return [(new.rev, new.op, new.key) for new in mem.watch(since=3, timeout=0)]


def adds(mem: Any) -> Any:
    """Two processes do this to one counter at once, and nothing is lost."""
    added = 0
    while added < 100:
        now = mem.entry("counter")
        try:
            mem.set("counter", now.value + 1, if_version=now.version)
            added += 1
        except memwell.Conflict:
            pass  # the other one was faster: read again


def keeps(mem: Any) -> Any:
    """Some things are better said than named: they are kept as records."""
    mem.remember("Ann prefers short reviews", kind="profile", tags=["style"])
    mem.remember("Deployments happen on Tuesdays, once the tests are green")
    mem.remember("The staging database is restored every night")
    return [hit.snippet for hit in mem.search()]


def finds(mem: Any) -> Any:
    """They are found by what they say, also when asked in other words."""
    return mem.search("when do we deploy?")[0].record.content


def corrects(mem: Any) -> Any:
    """A new one takes the place of one that is wrong, which stays readable."""
    old = mem.search("when do we deploy?")[0].record
    mem.records.supersede(old.id, "Deployments happen on Thursdays")
    return mem.search("deploy")[0].snippet, mem.records.read(old.id).status


def waits(mem: Any, ann: Any) -> Any:
    """What waits for approval is not found before somebody else has approved it."""
    draft = mem.remember("Bob keeps the key to the vault", pending=True)
    before = len(mem.search("vault key"))
    ann.records.approve(draft.id)
    return before, mem.search("vault key")[0].record.provenance.reviewed_by


def packs(mem: Any) -> Any:
    """What a prompt should know, fenced, within a budget of tokens."""
    packed = mem.records.context("review, then deploy", max_tokens=100)
    return packed.tokens, packed.text.splitlines()


def talks(mem: Any) -> Any:
    """A conversation is a thread: messages in order, the newest at hand."""
    thread = mem.threads.create("release", id="release")
    thread.append("user", "When do we ship, and who has to be told about it?")
    thread.append("assistant", "On Thursday; Ann tells the customers.")
    thread.append("user", "And who writes the notes?")
    return [(said.seq, said.role, said.content) for said in thread.messages(limit=1)]


def compacts(mem: Any) -> Any:
    """When it gets long, a summary stands for what is old, which stays below it."""
    answer = "We ship on Thursday."  # a model would say it
    Summarizer(lambda _: answer, max_tokens=20, keep=1).process(mem, "release")
    thread = mem.threads.get("release")
    return [said.content for said in thread.messages()], thread.count()


def counts(store: Any) -> Any:
    """What the store holds now."""
    return store.stats()


def work(path: str) -> None:
    """What each of the two processes does."""
    with memwell.open(path, durability="fast") as store:
        adds(store.scope(agent="demo"))


def _both(path: str, mem: memwell.Memory) -> Any:
    mem.set("counter", 0)
    command = [sys.executable, "-c", "import sys; from memwell.cli.demo import work; work(sys.argv[1])", path]
    workers = [subprocess.Popen(command) for _ in range(2)]  # noqa: S603 - our own interpreter and code
    if sum(worker.wait() for worker in workers):
        raise memwell.Unavailable("a process of the demo failed", hint="'memwell doctor' may say why")
    return mem.get("counter")


def _tour(path: str) -> Iterator[Step]:
    yield _step(survives, survives(path))
    with memwell.open(path, by="ben") as store:
        mem = store.scope(agent="demo")
        for act in (compares, expires, remembers, reverts, looks_back, watches):
            yield _step(act, act(mem))
        yield _step(adds, _both(path, mem))
        for act in (keeps, finds, corrects):
            yield _step(act, act(mem))
        yield _step(waits, waits(mem, store.scope(agent="demo", by="ann")))
        yield _step(packs, packs(mem))
        for act in (talks, compacts):
            yield _step(act, act(mem))
        yield _step(counts, counts(store))


def _step(act: Callable[..., Any], result: Any) -> Step:
    body = textwrap.dedent(inspect.getsource(act).partition('"""\n')[2]).rstrip()
    return Step(inspect.getdoc(act) or "", body.replace("return ", ""), result)


def _print(number: int, step: Step) -> None:
    click.echo(f"{show.style(f'{number}.', fg='cyan', bold=True)} {show.style(step.title, bold=True)}\n")
    click.echo(textwrap.indent(step.code, "     "))
    lines = pformat(step.result, width=72, sort_dicts=False).splitlines()
    shown = "\n     ".join(part.rstrip() for line in lines for part in textwrap.wrap(line, 72, drop_whitespace=False))
    click.echo(f"  {show.style('=>', fg='green', bold=True)} {shown}\n")


@click.command(cls=Command, example="memwell demo")
@click.option("--keep", is_flag=True, help="Keep the scratch store and print its path.")
def demo(keep: bool) -> None:
    """Take a tour on a scratch store.

    It is a temporary file that is deleted afterwards; your own store is not touched.
    """
    folder = Path(tempfile.mkdtemp(prefix="memwell-demo-"))
    path, steps = str(folder / "memory.db"), []
    try:
        for step in _tour(path):
            steps.append(step)
            if not chosen("json"):
                _print(len(steps), step)
    finally:
        if not keep:
            shutil.rmtree(folder)
    kept = [f"The scratch store stays at {path}\n"] if keep else []
    show.result(
        {"steps": steps, "store": path if keep else None},
        [*kept, show.style("Try next:", bold=True), textwrap.indent(NEXT, "  ")],
    )
