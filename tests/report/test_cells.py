"""The cells of the main table: their files, their keys on the page, and the head of the page."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from pathlib import Path
from statistics import median_low
from typing import Any

import pytest
from synthetic import experiment, full_experiment, full_records, record, study

from kselect.core.method import Setting
from kselect.kernels.base import read_parameters
from kselect.report.cells import show_short
from kselect.report.head import find_citation
from kselect.report.page import write_report
from kselect.stats.cell_details import cell_details, chosen_numbers
from kselect.stats.sources import Published

THEIRS = (Published("1", "heart", "5-CV", Setting(value=0.001), 17.0, 2.0, "sd"),)


def read_cells(folder: Path, name: str) -> list[dict[str, Any]]:
    text = (folder / f"report-data/{name}.js").read_text()
    match = re.fullmatch(r'kselect\.cells\("(.*?)",(.*)\);\n', text, re.DOTALL)
    assert match
    assert match[1] == name
    found: list[dict[str, Any]] = json.loads(match[2])
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cells")
    (folder / "config.resolved.yaml").write_text("name: ecml2014\n")
    spec = full_experiment(datasets=("heart", "a2a"), splits=(0, 1, 2), figures=())
    found = study(spec, full_records(spec), published=THEIRS)
    write_report(found, folder, standalone=True, home="../index.html")
    return folder


def test_a_key_leads_to_the_cell(folder: Path) -> None:
    """The number on the page and the mean of the file are those of the same method and data set."""
    page = (folder / "report.html").read_text()
    found = re.findall(r'data-cell="([^"/]*)/(\d+)">(?:<[^>]*>)*([\d.]+)', page)
    assert len(found) > 20
    for name, position, mean in found:
        cell = read_cells(folder, name)[int(position)]
        errors = [error for _, error in cell["errors"]]
        assert float(mean) == pytest.approx(sum(errors) / len(errors), abs=0.006)


def test_a_cell_has_what_its_records_say() -> None:
    rows = [
        record("heart", split, "5-CV", 0.1, chosen=f"tau={tau}", excluded=0)
        for split, tau in enumerate((0.5, 2.0, 8.0))
    ]
    rows.append(record("heart", 3, "5-CV", None, status="failed", reason="no fit", chosen=""))
    found = study(experiment(splits=(0, 1, 2, 3), datasets=("heart",)), rows)
    ((place, detail),) = cell_details(found, "squared").items()
    assert place == (rows[0].setting, "heart", "5-CV")
    assert (detail.choices, detail.failures) == (3, (("no fit", (3,)),))
    taus = [read_parameters(r.chosen)["tau"] for r in rows[:3]]
    tau = next(v for v in detail.values if v.name == "tau")
    assert (tau.median, tau.low, tau.high) == (median_low(taus), min(taus), max(taus))


def test_the_numbers_of_a_choice() -> None:
    """A class of another package has no lam, and may choose a word."""
    found = chosen_numbers("C=0.5;loss=hinge", math.nan, "")
    assert found == {"C": 0.5}
    assert chosen_numbers("tau=2", 0.25, "eta=4") == {"lam": 0.25, "tau": 2.0, "eta": 4.0}


def test_a_published_number_stands_below_ours(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert '<span class="theirs">17.00 ± 2.00</span><span class="apart">' in page
    cells = read_cells(folder, "squared-heart")
    (cell,) = [c for c in cells if "published" in c]
    assert cell["published"] == "17 ± 2 (sd), table 1"
    assert cell["command"] == "kselect run config.resolved.yaml -d heart -c 5-CV -o again"
    apart = re.search(r'class="apart">([-+.\d]+)<', page)
    assert apart
    assert apart[1] == cell["apart"]


def test_the_head_of_a_page(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    for words in (
        '<a href="../index.html">All experiments</a>',
        "<cite>Preventing Over-Fitting of Cross-Validation with Kernel Stability</cite>",
        "Yong Liu, Shizhong Liao. ECML PKDD 2014",
        "@inproceedings{ecml2014,",
        'href="config.resolved.yaml"',
        "1 published cells are within two standard errors of ours.",
        "kselect run config.resolved.yaml -o ecml2014-again",
    ):
        assert words in page, words


def test_a_standalone_page_refers_to_no_other_file(folder: Path) -> None:
    page = (folder / "standalone.html").read_text()
    addresses = re.findall(r'(?:src|srcset|href)="([^"#]+)', page)
    assert addresses
    assert all(a.startswith(("data:", "https://doi.org/")) for a in addresses)
    assert page.count("kselect.cells(") == len(list(folder.glob("report-data/*.js")))
    assert "connect-src" not in page
    script = unescape(page).split("script-src ")[1].split(";")[0]
    assert "'self'" not in script
    assert script.count("sha256-") == 1 + len(list(folder.glob("report-data/*.js")))
    assert "../index.html" not in page


def test_every_cited_paper_has_an_entry() -> None:
    for name in ("ecml2014", "icml2014", "tcyb2018", "ijcai2018", "flkl2014"):
        assert find_citation(name).startswith("@")
    assert find_citation("nothing") == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.0**-15, "2^-15"), (128.0, "2^7"), (0.001, "0.001"), (2.0, "2"), (0.123456, "0.1235")],
)
def test_powers_of_two(value: float, text: str) -> None:
    assert show_short(value) == text
