"""The tables in README.md and results/*/README.md that come from results/*/tables.

``python tests/verdicts.py`` rewrites the marked blocks of each README after ``kselect report results/``;
test_verdicts.py checks that they are current. A block of verdicts comes from claims.csv, and a paper without one
keeps what stands there. A block of errors is copied from a report's Markdown::

    <!-- table: ecml2014/tables/table1.md; under: λ = 0.001; columns: 5-CV, 5-KS -->
    <!-- end of table -->

``under`` names the heading that the table stands below, and ``columns`` those to keep. By default, the block has
the first table with all its columns. A block of some verdicts of another folder, such as a variant's, names them::

    <!-- table: ecml2014/variants/contenders/tables/claims.csv; claims: ks-svc, svc-boosting -->
    <!-- end of table -->
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from kselect.report.claims.effects import Effect
from kselect.report.claims.rules import Verdict

ROOT = Path(__file__).resolve().parents[1]
START = "<!-- verdicts: python tests/verdicts.py writes this table -->"
END = "<!-- end of verdicts -->"
# The claim of each paper that stands in README.md.
MAIN = {
    "ecml2014": "6.1a",
    "tcyb2018": "A1",
    "icml2014": "6a",
    "ijcai2018": "5.1a",
    "flkl2014": "3.3-2",
}
COPIED = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- end of table -->)", re.DOTALL)
WITHOUT_NUMBERS: tuple[Verdict, ...] = ("not tested here", "no numbers", "too few numbers")
Row = Mapping[str, str]


def claims_file(paper: str, root: Path = ROOT) -> Path:
    """Return the file of a paper's verdicts."""
    return root / "results" / paper / "tables/claims.csv"


def read_claims(file: Path) -> list[Row]:
    """Return the claims under the main reading and with the main loss."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [r for r in csv.DictReader(lines) if not r["variant"] and not r["loss"]]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    every = [headings, ["---"] * len(headings), *rows]
    cells = ([cell.replace("|", "\\|") for cell in row] for row in every)
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def show_effect(row: Row) -> str:
    """Return an effect with its unit and interval, as the report shows it."""
    numbers = (float(row[name] or "nan") for name in ("effect", "low", "high"))
    effect = Effect(*numbers, unit=row["unit"])
    if math.isnan(effect.value):
        return ""
    return f"{effect.text} ({effect.interval})" if effect.interval else effect.text


def paper_block(claims: Sequence[Row], printed: bool = True) -> str:
    """Return a table of claims, by default with what the paper counts, as results/<paper>/README.md shows it."""
    headings = ["", "claim", "verdict", "effect (95 % interval)", "counts"]
    rows = [
        [*(r["id"], r["claim"], r["verdict"], show_effect(r)), r["counts"] or r["reason"]]
        for r in claims
    ]
    if printed:
        headings.append("the paper counts")
        rows = [[*row, r["paper_counts"]] for row, r in zip(rows, claims, strict=True)]
    return table(headings, rows)


def main_row(paper: str, claims: Sequence[Row]) -> Sequence[str]:
    """Return the row of README.md for a paper."""
    row = next(r for r in claims if r["id"] == MAIN[paper])
    why = row["reason"] if row["verdict"] in WITHOUT_NUMBERS else row["counts"]
    details = f"[results/{paper}](results/{paper}/README.md)"
    return (paper, row["claim"], f"{row['verdict']}: {why}" if why else row["verdict"], details)


def main_block(old: str, root: Path = ROOT) -> str:
    """Return the table of README.md; a paper without a claims.csv keeps its row of the ``old`` table."""
    rows = []
    for paper in MAIN:
        file = claims_file(paper, root)
        if file.is_file():
            rows.append(table(main_row(paper, read_claims(file)), ()).split("\n")[0])
        else:
            rows += [line for line in old.split("\n") if line.startswith(f"| {paper} |")]
    return "\n".join([table(("paper", "its main claim", "our verdict", "details"), ()), *rows])


def find_block(text: str) -> str:
    """Return what stands between the marks of a README."""
    return text.partition(START)[2].partition(END)[0].strip("\n")


def with_block(text: str, block: str) -> str:
    """Return the text of a README with another block between its marks."""
    before, mark, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not (mark and end):
        raise ValueError(f"the marks {START} and {END} are missing")
    return f"{before}{START}\n{block}\n{END}{after}"


def copied_table(order: str, root: Path = ROOT) -> str:
    """Return the table that the mark of a block asks for."""
    name, *options = (part.strip() for part in order.split(";"))
    asked = dict(option.split(": ", 1) for option in options)
    if wanted := asked.pop("claims", ""):
        known = {row["id"]: row for row in read_claims(root / "results" / name)}
        return paper_block([known[claim] for claim in wanted.split(", ")], printed=False)
    text = (root / "results" / name).read_text(encoding="utf-8")
    if under := asked.pop("under", ""):
        _, found, text = text.partition(f"\n## {under}\n")
        if not found:
            raise ValueError(f"{name} has no heading {under}")
    rows = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)[0].strip("\n").split("\n")
    wanted = asked.pop("columns", "")
    if asked:
        raise ValueError(f"unknown options of a table: {', '.join(asked)}")
    if not wanted:
        return "\n".join(rows)
    cells = [row.strip("|").split("|") for row in rows]
    headings = [cell.strip() for cell in cells[0]]
    kept = [0, *map(headings.index, wanted.split(", "))]
    return "\n".join(f"|{'|'.join(row[i] for i in kept)}|" for row in cells)


def with_tables(text: str, root: Path = ROOT) -> str:
    """Return the text of a README with the tables that it copies as they are now."""
    return COPIED.sub(lambda m: f"{m[1]}{copied_table(m[2], root)}\n{m[3]}", text)


def rewrite(root: Path = ROOT) -> None:
    """Rewrite the blocks of every README; one of no paper has tables only."""
    for readme in sorted((root / "results").glob("*/README.md")):
        paper = readme.parent.name
        file = claims_file(paper, root)
        text = with_tables(readme.read_text(encoding="utf-8"), root)
        if paper in MAIN and file.is_file():
            text = with_block(text, paper_block(read_claims(file)))
        readme.write_text(text, encoding="utf-8")
    readme = root / "README.md"
    text = with_tables(readme.read_text(encoding="utf-8"), root)
    readme.write_text(with_block(text, main_block(find_block(text), root)), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
