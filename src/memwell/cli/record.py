"""`memwell record`: memories that can be searched, traced, superseded and approved."""

from __future__ import annotations

import click

from memwell.cli.options import Group
from memwell.cli.record_move import export, import_
from memwell.cli.record_read import history, list_, read, search
from memwell.cli.record_write import add, edit, forget, restore, rm, supersede


@click.group(cls=Group, example='memwell record search agent:support "how to review"')
def record() -> None:
    """Remember, search and trace records of any scope.

    A SCOPE is kind:id, or several joined by '/', or global. An ID may be cut to
    its first 8 characters or more, as long as only one begins with them.
    """


for command in (add, search, read, list_, edit, supersede, rm, restore, history, forget, export, import_):
    record.add_command(command)
