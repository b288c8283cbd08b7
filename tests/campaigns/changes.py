"""List the cells of an experiment that differ between two record files, with the cause of each difference.

    python tests/campaigns/changes.py OLD.csv NEW.csv --cause ridge --told-by VARIANT.csv -o changes.csv
    python tests/campaigns/changes.py OLD.csv NEW.csv --of ARD-FLKL=start -o changes.csv

``--cause`` names the change that was meant to alter the numbers. ``--told-by`` holds records of the new program
under the old reading of the protocol: a cell that agrees there with the old record was altered by the cause alone,
and one that does not was altered by the program ("engine"). Cells without such a record are marked "not told
apart". ``--of METHOD=CAUSE`` names the cause for one method.

A cell is equal if its choice is the same and its score and error agree within a relative 1e-9.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

KEY = ["dataset", "split", "part", "method", "params", "setting"]
CHOICE = ["kernel", "chosen", "lam", "status"]
VALUES = ["score", "error"]
NEAR = 1e-9


def read(path: Path) -> pd.DataFrame:
    """Return the records of a file with the numbers of cells as text, one row per cell."""
    records = pd.read_csv(path, dtype=str, keep_default_na=False)
    return records.drop_duplicates(KEY).set_index(KEY)[CHOICE + VALUES]


def different(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    """Return for the cells of both tables whether the choice, the score and the error differ."""
    found = {"choice": (left[CHOICE] != right[CHOICE]).any(axis=1)}
    for name in VALUES:
        pair = [pd.to_numeric(side[name], errors="coerce").to_numpy() for side in (left, right)]
        same = np.isclose(pair[0], pair[1], rtol=NEAR, atol=0.0, equal_nan=True)
        found[name] = pd.Series(~same, index=left.index)
    return pd.DataFrame(found)


def causes(
    changed: pd.DataFrame, old: pd.DataFrame, told: pd.DataFrame | None, cause: str
) -> list[str]:
    """Return the cause of each changed cell."""
    if told is None:
        return [cause] * len(changed)
    known = changed.index.intersection(told.index)
    by_program = different(old.loc[known], told.loc[known]).any(axis=1)
    return [
        (f"engine, {cause}" if by_program[cell] else cause)
        if cell in by_program.index
        else f"{cause} (not told apart)"
        for cell in changed.index
    ]


def main() -> int:
    """Print how many cells of each method changed, by cause, and write the list."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--cause", default="engine")
    parser.add_argument("--told-by", type=Path)
    parser.add_argument("--of", action="append", default=[], metavar="METHOD=CAUSE")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    old, new = read(asked.old), read(asked.new)
    both = old.index.intersection(new.index)
    what = different(old.loc[both], new.loc[both])
    what = what[what.any(axis=1)]
    told = read(asked.told_by) if asked.told_by else None
    listed = what.assign(cause=causes(what, old, told, asked.cause))
    for entry in asked.of:
        method, _, cause = entry.partition("=")
        listed.loc[listed.index.get_level_values("method") == method, "cause"] = cause
    print(f"cells in both: {len(both)}, changed: {len(listed)}")
    print(f"only old: {len(old) - len(both)}, only new: {len(new) - len(both)}")
    told_apart = listed.groupby(["cause", "method"])[["choice", "score", "error"]].sum()
    print(told_apart.to_string() if len(listed) else "no cell changed")
    if asked.output:
        sides = [s.loc[listed.index].add_suffix(f"_{n}") for s, n in ((old, "old"), (new, "new"))]
        pd.concat([listed, *sides], axis=1).reset_index().to_csv(asked.output, index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
