"""`memwell thread`: conversations, message by message."""

from __future__ import annotations

import click

from memwell.cli.options import Group
from memwell.cli.thread_move import export, import_
from memwell.cli.thread_read import list_, search, show_
from memwell.cli.thread_write import append, compact, fork, new, rename, rm


@click.group(cls=Group, example='memwell thread show agent:support "Release planning"')
def thread() -> None:
    """Keep, read, search and compact conversations of any scope.

    A THREAD is named by its id, by the first 8 characters or more of it, or by
    its title, as long as only one is meant.
    """


for command in (list_, show_, new, append, search, fork, rename, rm, export, import_, compact):
    thread.add_command(command)
