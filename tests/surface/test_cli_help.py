"""Help, completion and the reference page: what is not documented is broken."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import memwell
from memwell.cli import COMMANDS, cli
from memwell.cli.options import COMMON, Everywhere, Framed
from memwell.errors import ERRORS

from .conftest import SCRIPT, Run

PAGE = (Path(__file__).parents[2] / "docs/reference/command-line.md").read_text()


def commands(command: click.Command = cli, path: str = "memwell") -> Iterator[tuple[str, click.Command]]:
    """Every command, with the words that call it."""
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            inner = command.get_command(ctx, name)
            assert inner is not None
            yield f"{path} {name}", inner
            yield from commands(inner, f"{path} {name}")


ALL = dict(commands())
LEAVES = {path: command for path, command in ALL.items() if not isinstance(command, click.Group)}


def section(path: str) -> str:
    """What the reference page says below a command's heading."""
    found = re.search(rf"^##+ {re.escape(path)}$(.*?)(?=^## |^### |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"{path} has no heading in docs/reference/command-line.md"
    return found[1]


@pytest.mark.parametrize("path", ALL)
def test_every_command_has_help_with_an_example(run: Run, path: str) -> None:
    command = ALL[path]
    ran = run(*path.split()[1:], "--help")

    assert isinstance(command, Framed)
    assert command.help
    assert (ran.code, ran.err) == (0, "")
    assert command.example.startswith(path)
    assert command.example in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.mark.parametrize("path", LEAVES)
def test_every_command_and_option_is_on_the_reference_page(path: str) -> None:
    text, command = section(path), LEAVES[path]
    arguments = [param.human_readable_name for param in command.params if isinstance(param, click.Argument)]
    own = [param for param in command.params if isinstance(param, click.Option) and not isinstance(param, Everywhere)]

    assert f"`{path}" in text
    assert isinstance(command, Framed)
    for word in (*arguments, *(name for option in own for name in option.opts)):
        assert word in text, f"{word} of {path} is not documented"
    listed = set(re.findall(r"^\| `(--[a-z-]+)", text, re.MULTILINE))
    assert listed == {name for option in own for name in option.opts}


def test_the_page_knows_no_other_commands() -> None:
    assert set(re.findall(r"^##+ (memwell .*)$", PAGE, re.MULTILINE)) == set(ALL)


def test_options_of_every_command_and_exit_codes_are_on_the_page() -> None:
    for option in (*COMMON, *(param for param in cli.params if isinstance(param, click.Option))):
        assert f"`{option.opts[0]}" in PAGE
    for code in {error.exit_code for error in ERRORS.values()} | {0, 130}:
        assert f"\n| {code} | " in PAGE


def test_the_table_of_commands_says_what_their_help_says() -> None:
    told = {name: (ALL[f"memwell {name}"].help or "").partition("\n")[0] for name in COMMANDS}

    assert told == {name: about for name, (_, about) in COMMANDS.items()}


@pytest.mark.parametrize("path", LEAVES)
def test_every_example_works(
    run: Run, filled: str, remembered: str, spoken: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("export", "memory.ndjson")
    run("thread", "export", "agent:support", "Release planning", "talk.jsonl")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text("Tea is at four.")
    command = LEAVES[path]
    assert isinstance(command, Framed)
    words = shlex.split(command.example)[1:]
    if path == "memwell memory watch":
        words[words.index("--timeout") + 1] = "0"

    assert run(*words).code == 0


def test_version(script: Run) -> None:
    assert script("--version") == (0, f"memwell {memwell.__version__}\n", "")
    assert script("--json", "--version").json == {"version": memwell.__version__}


def test_help_and_version_load_no_command() -> None:
    code = "import sys; from memwell.cli import cli\ntry: cli(['--help'])\nexcept SystemExit: pass\n"
    show = "sys.stderr.write(repr([name for name in sys.modules if name.startswith('memwell.cli')]))"
    done = subprocess.run([sys.executable, "-c", code + show], capture_output=True, text=True, check=True)

    assert sorted(ast.literal_eval(done.stderr)) == ["memwell.cli", "memwell.cli.options"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_script(script: Run, shell: str) -> None:
    ran = script("completion", shell)

    assert ran.code == 0
    assert "_MEMWELL_COMPLETE=" in ran.out
    assert script("completion", shell, "--json").json == {"shell": shell, "script": ran.out.removesuffix("\n")}
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=ran.out, text=True, check=True)


def test_bash_loads_the_script_and_completes(tmp_path: Path) -> None:
    program = f"""
        PATH={Path(SCRIPT).parent}:$PATH
        eval "$(memwell completion bash)"
        complete -p memwell
        COMP_WORDS=(memwell memory re) COMP_CWORD=2
        _memwell_completion memwell re memory
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    registered, completed = done.stdout.splitlines()

    assert registered.endswith(" memwell")
    assert completed.split() == ["read", "revert"]
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
