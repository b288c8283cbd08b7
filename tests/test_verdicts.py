"""README.md and results/<paper>/README.md show the verdicts of results/<paper>/tables/claims.csv."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import verdicts
import yaml

COLUMNS = ("id", "claim", "verdict", "effect", "low", "high", "unit", "counts", "paper_counts")
RESULTS = verdicts.ROOT / "results"
ABSENT = "the report of {} has no tables/claims.csv yet: kselect report results/"


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("paper", verdicts.MAIN)
def test_the_verdicts_of_a_paper(paper: str) -> None:
    """Every claim stands in the README of its results, with the verdict, effect and counts of the report."""
    file, readme = verdicts.claims_file(paper), read(RESULTS / paper / "README.md")
    assert readme.count(verdicts.START) == readme.count(verdicts.END) == 1
    if not file.is_file():
        pytest.skip(ABSENT.format(paper))
    assert verdicts.find_block(readme) == verdicts.paper_block(verdicts.read_claims(file)), (
        "run python tests/verdicts.py"
    )


@pytest.mark.parametrize("paper", verdicts.MAIN)
def test_the_verdict_in_the_readme(paper: str) -> None:
    readme = read(verdicts.ROOT / "README.md")
    assert readme.count(verdicts.START) == readme.count(verdicts.END) == 1
    block = verdicts.find_block(readme)
    assert block.count(f"\n| {paper} |") == 1
    if not verdicts.claims_file(paper).is_file():
        pytest.skip(ABSENT.format(paper))
    assert block == verdicts.main_block(block), "run python tests/verdicts.py"


@pytest.mark.parametrize("name", ["", *(f"results/{paper}" for paper in (*verdicts.MAIN, "mkl"))])
def test_the_tables_that_a_readme_copies(name: str) -> None:
    readme = read(verdicts.ROOT / name / "README.md")
    assert readme.count("<!-- table:") == readme.count("<!-- end of table -->")
    assert readme == verdicts.with_tables(readme), "run python tests/verdicts.py"


def test_some_verdicts_of_another_folder(tmp_path: Path) -> None:
    folder = tmp_path / "results/a/variants/b/tables"
    folder.mkdir(parents=True)
    rows = [
        {name: f"{name} {i}" for name in (*COLUMNS, "reason")}
        | {"variant": "", "loss": "", "effect": "1", "low": "0.5", "high": "2", "unit": "points"}
        for i in range(3)
    ]
    with (folder / "claims.csv").open("w", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    order = "<!-- table: a/variants/b/tables/claims.csv; claims: id 2, id 0 -->\n"
    found = verdicts.with_tables(f"{order}old\n<!-- end of table -->\n", tmp_path).splitlines()
    assert [line.split(" | ")[:3] for line in found[3:5]] == [
        [f"| id {i}", f"claim {i}", f"verdict {i}"] for i in (2, 0)
    ]
    assert "the paper counts" not in found[1]


def test_a_table_is_copied_with_the_columns_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "results/a/tables"
    folder.mkdir(parents=True)
    shown = "| data set |  x |  y |\n| -------- | -: | -: |\n| one      |  1 |  2 |\n"
    (folder / "t.md").write_text(f"# t\n\n## first\n\n| none |\n\n## then\n\n{shown}\ntext\n")
    whole = "<!-- table: a/tables/t.md; under: then -->\nold\n<!-- end of table -->\n"
    assert verdicts.with_tables(whole, tmp_path) == whole.replace("old\n", shown)
    part = whole.replace("then", "then; columns: y")
    assert "| data set |  y |\n| -------- | -: |\n| one      |  2 |\n<" in verdicts.with_tables(
        part, tmp_path
    )
    with pytest.raises(ValueError, match="no heading last"):
        verdicts.with_tables(whole.replace("then", "last"), tmp_path)
    with pytest.raises(ValueError, match="unknown options of a table: colums"):
        verdicts.with_tables(whole.replace("then", "then; colums: y"), tmp_path)


def test_every_paper_has_a_claim_in_the_readme() -> None:
    folder = verdicts.ROOT / "data/published"
    assert set(verdicts.MAIN) == {path.stem for path in folder.glob("*.yaml")}
    for paper, name in verdicts.MAIN.items():
        claims = yaml.safe_load(read(folder / f"{paper}.yaml"))["claims"]
        assert name in [str(claim["id"]) for claim in claims]


def write_claims(root: Path, paper: str, **more: str) -> None:
    """Write a claims.csv with the paper's main claim under two readings, and a README to be filled."""
    path = verdicts.claims_file(paper, root)
    path.parent.mkdir(parents=True)
    names = (*COLUMNS, "variant", "loss", "reason")
    row = dict.fromkeys(names, "") | {"id": verdicts.MAIN[paper], "claim": "a beats b"} | more
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, names)
        writer.writeheader()
        writer.writerows([row, row | {"variant": "fixed", "verdict": "mixed"}])
    readme = root / "results" / paper / "README.md"
    readme.write_text(f"before\n{verdicts.START}\nold\n{verdicts.END}\nafter\n")


def test_only_the_blocks_are_rewritten(tmp_path: Path) -> None:
    """A second run changes nothing, and a paper without verdicts keeps its row."""
    counts = "2 lower, 1 equal, 0 higher"
    measured = {"effect": "-0.5", "low": "-0.75", "high": "-0.25", "unit": "points"}
    write_claims(tmp_path, "ecml2014", verdict="supported", counts=counts, **measured)
    write_claims(tmp_path, "icml2014", verdict="no numbers", reason="none | yet")
    kept = "| tcyb2018 | its claim | as before | there |"
    readme = tmp_path / "README.md"
    readme.write_text(f"head\n\n{verdicts.START}\n{kept}\n{verdicts.END}\n\ntail\n")
    for _ in range(2):
        verdicts.rewrite(tmp_path)
        assert read(readme).split("\n") == [
            *("head", "", verdicts.START),
            *("| paper | its main claim | our verdict | details |", "| --- | --- | --- | --- |"),
            f"| ecml2014 | a beats b | supported: {counts} | [results/ecml2014](results/ecml2014/README.md) |",
            kept,
            "| icml2014 | a beats b | no numbers: none \\| yet | [results/icml2014](results/icml2014/README.md) |",
            *(verdicts.END, "", "tail", ""),
        ]
        one = read(tmp_path / "results/ecml2014/README.md")
        assert one.startswith(f"before\n{verdicts.START}\n|  | claim | verdict |")
        assert one.endswith(f"\n{verdicts.END}\nafter\n")
        (line,) = [line for line in one.split("\n") if line.startswith("| 6.1a |")]
        assert line.startswith("| 6.1a | a beats b | supported | -0.5 points (")
        assert line.endswith(f") | {counts} |  |")


def test_a_readme_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="marks"):
        verdicts.with_block("text", "table")
