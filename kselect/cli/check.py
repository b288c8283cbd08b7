"""``kselect check``: run the contract tests on everything that a plug-in registers."""

from __future__ import annotations

from pathlib import Path

import click

from kselect.cli.flags import PATH
from kselect.contract.checks import CHECKS, CheckResult, findings
from kselect.errors import ConfigError, printable
from kselect.plugins import companion, load_plugin, registered_by
from kselect.report.figures import FIGURES

EPILOG = """\b
Example:
  kselect check mine.py

Exit status: 0 if all checks hold, 1 if one does not, 2 if the file cannot be loaded.
"""


@click.command("check", epilog=EPILOG)
@click.argument("plugin", metavar="PLUGIN.py", type=PATH)
def check(plugin: Path) -> int:
    """Run the contract tests on each criterion, kernel, learner, search and kind of figure in PLUGIN.py.

    A part may bring its slow definition, with which it is compared: oracle_NAME in the same file, NAME being its
    function or class in lower case.
    """
    assert FIGURES.kind in CHECKS  # a plug-in may register figures, so their registry must exist
    loaded = load_plugin(plugin)
    parts = list(registered_by(loaded))
    if not parts:
        raise ConfigError(f"{printable(plugin)}:1: registers nothing; see kselect guide plug-ins")
    broken: list[CheckResult] = []
    for kind, name, item in parts:
        click.echo(f"{kind} {name}")
        for finding in findings(kind, name, item):
            broken += [finding] if finding.text else []
            click.echo(f"  {shown(finding, has_oracle=companion(item, 'oracle') is not None)}")
    for finding in broken:
        click.echo(f"error: {finding.line}", err=True)
    count = f"{len(parts)} part{'s' * (len(parts) != 1)} of {printable(plugin)}"
    click.echo(f"{count}: {f'{len(broken)} checks do not hold' if broken else 'all checks hold'}")
    return 1 if broken else 0


def shown(finding: CheckResult, *, has_oracle: bool) -> str:
    """Return a finding as a line of the list: ok, absent or WRONG."""
    if finding.text:
        return f"WRONG   {finding.check}"
    if finding.check == "oracle" and not has_oracle:
        return "absent  oracle: the file defines no slow version to compare with"
    return f"ok      {finding.check}"
