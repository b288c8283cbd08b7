"""The command ``judge``: its options, files, paragraph and verdicts."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path

import error_files
import numpy as np
import pytest
from click.testing import CliRunner, Result

from kselect.cli.main import cli
from kselect.errors import ConfigError
from kselect.judge.analysis import Analysis, analyse, pair_tests
from kselect.judge.claims import judge_claim, read_claim
from kselect.judge.error_table import read_errors
from kselect.judge.words import paragraph
from kselect.report.claims.rules import RULES
from kselect.stats.omnibus import choose_test, magnitude, repeated_measures

pytestmark = pytest.mark.usefixtures("pictures_alone")
Judge = Callable[..., Result]


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Return a function that runs ``kselect judge`` on one of the files."""
    monkeypatch.chdir(tmp_path)

    def call(name: str, *flags: str) -> Result:
        error_files.write(name, tmp_path)
        found = CliRunner().invoke(
            cli, ["judge", f"{name}.csv", *flags], catch_exceptions=False, standalone_mode=False
        )
        assert found.exit_code == 0, found.output
        return found

    return call


def rows(path: str) -> list[dict[str, str]]:
    """Return the rows of a CSV."""
    with open(path, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_files_page_and_verdicts(judge: Judge) -> None:
    """All files are there; the page has every chapter; an earlier judgement's claims are removed."""
    found = judge("normal", "--claim", "m0 < m2", "--claim", "m0 = m1")
    folder = Path("normal-judged")
    names = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}
    tables = {
        f"tables/{t}.{e}" for t in ("errors", "pairs", "claims") for e in ("csv", "md", "tex")
    }
    figures = {
        f"figures/{f}{e}"
        for f in ("ranks", "pairs")
        for e in (".pdf", ".png", ".svg", "-narrow.pdf", "-narrow.svg")
    }
    others = {
        "tables/t-tests.csv",
        "tables/ranks.csv",
        "paragraph.md",
        "paragraph.tex",
        "report.html",
    }
    cells = {f"report-data/errors-{i}.js" for i in range(12)}
    assert names == tables | figures | others | cells
    page = (folder / "report.html").read_text(encoding="utf-8")
    for chapter in ("words", "claims", "tables", "ranks", "pairs", "splits", "made"):
        assert f'<section id="{chapter}">' in page
    assert "m0 < m2: supported (11 better, 0 equal, 1 worse;" in found.output
    assert rows(f"{folder}/tables/claims.csv")[0]["verdict"] == "supported"
    text = (folder / "paragraph.md").read_text(encoding="utf-8").strip()
    assert text in found.output
    assert not judge("normal", "-q").output
    assert not list(folder.glob("tables/claims.*"))


def test_the_page_opens_its_cells_and_says_how_it_was_made(judge: Judge) -> None:
    """A cell has the errors of the file, also in the page that contains everything."""
    judge("normal", "--claim", "m0 < m2", "--standalone", "-q")
    found = read_errors(Path("normal.csv"))
    folder, dataset = Path("normal-judged"), found.datasets[1]
    script = (folder / "report-data/errors-1.js").read_text(encoding="utf-8")
    given = script.removeprefix("kselect.cells(").removesuffix(");\n")
    name, cells = json.loads(f"[{given}]")
    expected = [[split, e] for split, e in found.samples[dataset, "m1"].errors.items()]
    mine = cells[found.methods.index("m1")]
    assert (name, mine["title"]) == ("errors-1", f"m1 on {dataset}")
    assert [split for split, _ in mine["errors"]] == [split for split, _ in expected]
    assert [e for _, e in mine["errors"]] == pytest.approx([e for _, e in expected], rel=1e-5)
    whole = (folder / "standalone.html").read_text(encoding="utf-8")
    assert script.strip() in whole
    assert 'src="report-data' not in whole
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert hashlib.sha256(Path("normal.csv").read_bytes()).hexdigest() in page
    assert "1 of 1 claim is supported" in page


def test_paragraph_states_test_statistic_p_and_effect(judge: Judge) -> None:
    """The numbers of the paragraph are those of the tests."""
    text = judge("skewed").output
    for words in (
        "We compared m0, m1, m2 and m3 by their mean error rate on 11 data sets, with 3 splits each.",
        "Friedman's test rejects at 5 % that all methods are alike (chi-squared(3) = 27.3, p < 0.001).",
        "Nemenyi's test (critical difference of mean ranks 1.41) tells apart ",
        "m0 has the lowest mean rank.",
        "Akinshin's gamma",
        "region of practical equivalence of 1 point, m0 is",
    ):
        assert words in text
    assert re.search(
        r"against m3 -\d\.\d+ points \(-\d\.\d+ to -\d\.\d+\), -0\.\d\d \(\w+\), p = ", text
    )


def test_alpha_moves_every_test(judge: Judge) -> None:
    """A lower level tells fewer pairs apart, moves the critical difference and the marks."""
    one = judge("ties", "-o", "a").output
    other = judge("ties", "-o", "b", "--alpha", "0.0001").output
    assert "rejects at 5 %" in one
    assert "does not reject at 0.01 %" in other
    before, after = ([r["t_test_none"] for r in rows(f"{d}/tables/pairs.csv")] for d in "ab")
    assert sum(map(int, before)) < sum(map(int, after))
    for name in ("not_worse", "not_worse_corrected"):
        marks = [[r[name] for r in rows(f"{d}/tables/errors.csv")].count("true") for d in "ab"]
        assert marks[0] < marks[1]


def test_rope_decides_who_is_the_same(judge: Judge) -> None:
    judge("normal", "-o", "a")
    judge("normal", "-o", "b", "--rope", "50")
    a, b = ([float(r["p_same"]) for r in rows(f"{d}/tables/pairs.csv")] for d in "ab")
    assert min(b) == 1.0
    assert max(a) < 1.0


def test_overlap_corrects_the_t_tests(judge: Judge) -> None:
    judge("normal", "-o", "a")
    judge("normal", "-o", "b", "--no-overlap")
    for a, b in zip(rows("a/tables/t-tests.csv"), rows("b/tables/t-tests.csv"), strict=True):
        assert a["p_value"] == b["p_value"] == b["p_value_corrected"]
        assert float(a["p_value_corrected"]) > float(a["p_value"])


def test_flags_are_passed_on(judge: Judge, tmp_path: Path) -> None:
    """--higher-is-better exchanges better and worse; --drop-incomplete accepts a missing row."""
    path = tmp_path / "errors.csv"
    table = error_files.errors("normal").drop(columns="metric")
    table.to_csv(path, index=False)
    flags = ["judge", str(path), "-o", "c"]
    assert CliRunner().invoke(cli, [*flags, "--higher-is-better"]).exit_code == 0
    judge("normal", "-o", "a")
    a, c = (rows(f"{d}/tables/pairs.csv") for d in "ac")
    assert [r["better"] for r in a] == [r["worse"] for r in c]
    assert [r["difference"] for r in a] == [r["difference"] for r in c]
    table.iloc[1:].to_csv(path, index=False)
    assert CliRunner().invoke(cli, flags).exit_code == 1
    assert CliRunner().invoke(cli, [*flags, "--drop-incomplete"]).exit_code == 0


def analysis(folder: Path, *lines: str) -> Analysis:
    """Return the analysis of some rows."""
    path = folder / "errors.csv"
    path.write_text("dataset,split,method,error\n" + "\n".join(lines), encoding="utf-8")
    return analyse(read_errors(path), 0.05, 1.0)


def test_one_data_set_is_tested_over_its_splits(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal((0.3, 0.35), 0.01, (10, 2))
    found = analysis(
        tmp_path,
        *(
            f"a,{i},{m},{x}"
            for i, row in enumerate(numbers)
            for m, x in zip("mn", row, strict=True)
        ),
    )
    assert found.omnibus is None
    assert "no test over data sets was made; it needs 5" in paragraph(found)
    (test,) = found.tests
    assert test.p_value == pytest.approx(pair_tests(found.table, "a")[0].p_corrected)
    judged = judge_claim(found, read_claim("m < n", found.table))
    assert (judged.verdict, judged.corrected) == ("supported", None)


def test_one_split_is_judged_over_data_sets(tmp_path: Path) -> None:
    """Wilcoxon's test replaces the t-tests; it needs six data sets, and is silent about fewer."""
    lines = [
        f"d{i},1,{m},{0.1 + 0.01 * i + 0.002 * i * j}"
        for i in range(1, 9)
        for j, m in enumerate("mn")
    ]
    found = analysis(tmp_path, *lines)
    verdicts = [
        judge_claim(found, read_claim(f"m {s} n", found.table)).verdict for s in ("<", ">", "=")
    ]
    assert verdicts == ["supported", "not supported", "not supported"]
    few = analysis(tmp_path, *lines[:10])
    assert judge_claim(few, read_claim("m < n", few.table)).verdict == "too few numbers"


@pytest.mark.parametrize(
    ("text", "higher", "kind", "left"),
    [
        ("m0 < m1", False, "lower", "m0"),
        ("m0>m1", False, "higher", "m0"),
        ("m0 <= m1", False, "not higher", "m0"),
        ("m0 >= m1", False, "not higher", "m1"),
        ("m0 = m1", False, "same", "m0"),
        ("m0 < m1", True, "higher", "m0"),
        ("m0 > m1", True, "lower", "m0"),
        ("m0 <= m1", True, "not higher", "m1"),
        ("m0 >= m1", True, "not higher", "m0"),
    ],
)
def test_claims_compare_the_numbers_of_the_file(
    text: str, higher: bool, kind: str, left: str, tmp_path: Path
) -> None:
    path = tmp_path / "errors.csv"
    error_files.errors("two-skewed").drop(columns="metric").to_csv(path, index=False)
    table = read_errors(path, higher=higher)
    claim = read_claim(text, table)
    assert (claim.kind, claim.left) == (kind, left)
    assert kind in RULES


def test_mistyped_claims(tmp_path: Path) -> None:
    found = analysis(tmp_path, *(f"a,{s},{m},0.{s}" for s in (1, 2) for m in ("k=1", "k=2")))
    assert read_claim("k=1 < k=2", found.table).left == "k=1"
    for text, words in (
        ("k=1", "'k' is not a method of .*; valid: k=1, k=2"),
        ("k", "must be 'A < B'"),
        ("k=1 < k=3", "'k=3' is not a method of .*errors.csv; did you mean 'k=2'"),
        ("k=1 = k=1", "names one method twice"),
    ):
        with pytest.raises(ConfigError, match=words):
            read_claim(text, found.table)


def test_no_differences_at_all(tmp_path: Path) -> None:
    """Constant numbers give p = 1 everywhere, without a warning."""
    found = analysis(
        tmp_path, *(f"d{i},{s},{m},0.5" for i in range(6) for s in (1, 2) for m in "mno")
    )
    assert found.omnibus is not None
    assert found.omnibus.p_value == 1.0
    assert {p.over_datasets.p_value for p in found.pairs} == {1.0}
    assert paragraph(found)


def test_repeated_measures_by_its_definition() -> None:
    """The sums of squares of a two-way layout, written out."""
    errors = np.random.default_rng(1).normal(size=(7, 3))
    grand, methods, sets = errors.mean(), errors.mean(axis=0), errors.mean(axis=1)
    between = sum(7 * (m - grand) ** 2 for m in methods)
    rest = sum(
        (errors[i, j] - methods[j] - sets[i] + grand) ** 2 for i in range(7) for j in range(3)
    )
    f, freedom, _ = repeated_measures(errors)
    assert (f, freedom) == (pytest.approx((between / 2) / (rest / 12)), (2, 12))


def test_mixed_metrics_use_ranks_only() -> None:
    errors = np.random.default_rng(2).normal(0.3, 0.05, (12, 3))
    chosen = {flag: choose_test(errors, 0.05, comparable=flag) for flag in (True, False)}
    assert [one.name for one in chosen.values() if one] == ["ANOVA", "Friedman"]
    assert choose_test(errors[:4], 0.05) is None


def test_magnitudes() -> None:
    found = [magnitude(x) for x in (0.1, -0.3, 0.6, -2.0)]
    assert found == ["negligible", "small", "medium", "large"]
