"""Write the async face from the sync one: the same methods, awaited. `--check` only compares."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FACES = {"recall.py": "recall_async.py", "threads.py": "threads_async.py", "memory.py": "aio.py"}

AWAITED = re.compile(r"(?<!await )\bself\.(_apply|_run|_door\.close|commit|_bell\.wait)\(")
ALWAYS = re.compile(r"^    def __a(enter|exit)__|: \.\.\.\s*(@overload\s*)?$")
METHOD = re.compile(r"^    def \w+\(", re.MULTILINE)
RULES = [
    (
        r'^"""Names for people: .*"""',
        '"""Made by scripts/make_aio.py; do not edit. The same names, awaited."""',
    ),
    (r"(?<![.\w])(Store|Memory|Batch|Watch|Local|Records|Threads|Thread)\b", r"Async\1"),
    (r"\b__(enter|exit|iter|next)__\b", r"__a\1__"),
    (r"\bStopIteration\b", "StopAsyncIteration"),
    (r"(?<!Async)\bIterator\b", "AsyncIterator"),
    (r"`memwell\.open`", "`memwell.open_async`"),
    (r"`with`", "`async with`"),
    (
        r"^from memwell\.local import AsyncLocal(, |$)",
        r"from memwell.local_async import AsyncLocal\nfrom memwell.local import ",
    ),
    (r"^from memwell\.(recall|threads) import", r"from memwell.\1_async import"),
]


def method_blocks(text: str) -> list[str]:
    """The text cut where a method begins, so that each piece holds at most one."""
    starts = [match.start() for match in METHOD.finditer(text)]
    return [text[a:b] for a, b in zip([0, *starts], [*starts, len(text)], strict=True)]


def colour(block: str) -> str:
    """A method that waits for something becomes a coroutine; so do its overloads, and entering and leaving."""
    if AWAITED.search(block) or ALWAYS.search(block):
        block = AWAITED.sub(lambda match: f"await {match[0]}", block)
        block = re.sub(r"^    def ", "    async def ", block, count=1)
    return block


def generate(source: Path, target: Path, used: set[str]) -> str:
    """The async file, and which rules it needed."""
    text = source.read_text()
    for pattern, replacement in RULES:
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        if count:
            used.add(pattern)
    text = re.sub(r"^from memwell\.local import $", "", text, flags=re.MULTILINE)
    text = "".join(colour(block) for block in method_blocks(text))
    for command in (["check", "--fix", "--quiet", "--select", "I,F401"], ["format", "--quiet"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(target), "-"]
        text = subprocess.run(ruff, input=text, text=True, capture_output=True, check=True, cwd=ROOT).stdout
    return text


def main() -> None:
    used: set[str] = set()
    for source, target in FACES.items():
        path = ROOT / "src/memwell" / target
        made = generate(ROOT / "src/memwell" / source, path, used)
        if "--check" not in sys.argv:
            path.write_text(made)
        elif path.read_text() != made:
            raise SystemExit(f"{target} is not what {source} makes: run scripts/make_aio.py")
    for pattern, _ in RULES:
        if pattern not in used:
            raise SystemExit(f"the rule {pattern!r} was never used: it hides a mistake")


if __name__ == "__main__":
    main()
