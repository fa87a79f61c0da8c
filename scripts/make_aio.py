"""Write src/memwell/aio.py from src/memwell/memory.py: the same methods, awaited. `--check` only compares."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/memwell/memory.py"
TARGET = ROOT / "src/memwell/aio.py"

AWAITED = re.compile(r"(?<!await )\bself\.(_apply|_run|_door\.close|commit|_bell\.wait)\(")
ALWAYS = re.compile(r"^    def __a(enter|exit)__|: \.\.\.\s*(@overload\s*)?$")
METHOD = re.compile(r"^    def \w+\(", re.MULTILINE)
RULES = [
    (
        r'^"""Names for people: .*"""',
        '"""Made from memory.py by scripts/make_aio.py; do not edit. The same names, awaited."""',
    ),
    (r"(?<![.\w])(Store|Memory|Batch|Watch|Local)\b", r"Async\1"),
    (r"\b__(enter|exit|iter|next)__\b", r"__a\1__"),
    (r"\bStopIteration\b", "StopAsyncIteration"),
    (r"(?<!Async)\bIterator\b", "AsyncIterator"),
    (r"`memwell\.open`", "`memwell.open_async`"),
    (r"`with`", "`async with`"),
    (
        r"^from memwell\.local import AsyncLocal, ",
        "from memwell.local_async import AsyncLocal\nfrom memwell.local import ",
    ),
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


def generate() -> str:
    """The async file; a rule that nothing needs is an error, because it hides a mistake."""
    text = SOURCE.read_text()
    for pattern, replacement in RULES:
        text, count = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        if not count:
            raise SystemExit(f"the rule {pattern!r} was never used")
    text = "".join(colour(block) for block in method_blocks(text))
    for command in (["check", "--fix", "--quiet", "--select", "I,F401"], ["format", "--quiet"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET), "-"]
        text = subprocess.run(ruff, input=text, text=True, capture_output=True, check=True, cwd=ROOT).stdout
    return text


def main() -> None:
    made = generate()
    if "--check" in sys.argv:
        if TARGET.read_text() != made:
            raise SystemExit("aio.py is not what memory.py makes: run scripts/make_aio.py")
    else:
        TARGET.write_text(made)


if __name__ == "__main__":
    main()
