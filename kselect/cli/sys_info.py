"""``kselect sys-info``."""

from __future__ import annotations

import click
import yaml

from kselect.store.environment import describe_environment


@click.command("sys-info", epilog="Example: kselect sys-info > bug-report.txt")
def sys_info() -> None:
    """Versions, CPU, BLAS and its threads: what a bug report needs."""
    click.echo(yaml.safe_dump(describe_environment(), sort_keys=False), nl=False)
