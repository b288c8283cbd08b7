"""Papers as data: what their files mean, and one line for every mistake in them."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
import yaml
from experiments import load_config, message_of

from kselect.config import load as config_load
from kselect.config.load import load
from kselect.config.papers import own_files, paper_file
from kselect.core.claim import KEYS, Claim, Large
from kselect.core.experiment import Experiment
from kselect.core.method import Setting
from kselect.errors import ConfigError
from kselect.packaged import packaged
from kselect.report.sections import FIGURES

ROOT = Path(__file__).resolve().parents[2]
IDS = {
    "ecml2014": "6.1a 6.1b 6.1c 6.1d 6.2 6.2b fig1",
    "flkl2014": (
        "3.1 3.2-1 3.2-2 3.3-1 3.3-2 3.3-3 3.4-1 3.4-2 3.4-3 3.4-4 3.4-5 3.4-6 3.4-7 3.5-2 3.5 "
        "3.6-1 3.6-2 3.6-3 3.7 3.7-2 3.7-3 4"
    ),
    "icml2014": "6a 6b 6c-1 6c-2 Remark1 6d 6e 6f-1 6f-2 6g",
    "ijcai2018": "5.1a 5.1d 5.1b 5.1c 5.2a-1 5.2a-2 5.2a-3 5.2b-1 5.2b-2",
    "tcyb2018": (
        "A1 A2 A3 A4 A5-1 A5-2 A6-1 A6-2 A7-1 A7-2 A8 Remark8 B1 B2-1 B2-2 B3-1 B3-2 B4 VIII-A"
    ),
}
OURS = tuple(IDS)
MY, PAPER, TABLE = Path("my.yaml"), Path("published/new.yaml"), Path("published/new.csv")
CONFIG = """\
name: my
paper: new
learner: lssvm
kernels: {gaussian: {tau: 2^-1:2^1}, polynomial: {degree: 1:5}}
lam: {fixed: [0.001, 0.1]}
criteria: [5-CV, {5-KS: {eta: 2}}, ELOO]
datasets: [heart, sonar]
figures:
  sweep: {paper: 3, criteria: [5-KS(eta=2)], eta: [1, 2], lam: 0.1}
"""
FACTS = """\
title: A new paper
authors: [A. Author, B. Author]
venue: Somewhere
year: 2020
doi: 10.1/2
splits: 5
splits-of: {sonar: 7}
aliases: {CV5: 5-CV}
printed-only: [Magic]
plain: [k-CV]
informative: {sonar: [3, 4]}
remarks: ["One misprint."]
"""
CLAIMS = """\
claims:
  - {id: "1", kind: lower, text: one, left: k-KS, right: [5-CV, ELOO], same-folds: true, paper-counts: all}
  - {id: "2", of: "1", kind: robust, text: two, method: 5-KS, parameter: eta, range: [2^-1, 2], figure: 3}
  - {id: "3", kind: higher, text: three, left: Magic, right: 5-CV, printed: true, datasets: heart}
  - {id: "4", kind: good setting, text: four, setting: lam = 0.1, task: classification}
  - {id: "5", kind: avoids, text: five, method: 5-KS, against: 5-CV, what: {polynomial: {degree: 4}}}
  - {id: "6", kind: exact, text: six, series: BIF-k-CV, order: 3, figure: sweep}
  - {id: "7", kind: cheaper, text: seven, left: ELOO, right: 5-CV, times: 5, table: 1, without: [heart]}
  - {id: "8", kind: varies less, text: eight, left: 5-KS, right: 5-CV, datasets: all, figure: 3}
  - {id: "9", kind: near, text: nine, untested: too long}
  - {id: "10", kind: suppresses, text: ten, left: 5-KS, right: 5-CV, datasets: sonar, figure: 3,
     features: informative}
"""
C_CLAIM = "claims: [{id: c, kind: good setting, text: c, setting: C = 0.1}]\n"
CELLS = """\
paper,table,dataset,method,setting,mean,spread,spread_kind
new,1,heart,CV5,lam=0.1,16.1,2.0,sd
new,1,heart,5-KS,lam=0.001,15.2,,se
new,1,heart,Magic,,14.2,2.0,sd
new,2,heart,CV5,,3.5,0.1,seconds
"""


def write(config: str = CONFIG, paper: str = FACTS + CLAIMS, table: str = CELLS) -> None:
    """Write a config and the files of its paper."""
    MY.write_text(config, encoding="utf-8")
    PAPER.parent.mkdir(exist_ok=True)
    PAPER.write_text(paper, encoding="utf-8")
    TABLE.write_text(table, encoding="utf-8")


def loaded(config: str = CONFIG, paper: str = FACTS + CLAIMS, table: str = CELLS) -> Experiment:
    write(config, paper, table)
    return load_config(MY)


def test_the_facts_of_a_paper() -> None:
    """Every key of the file is a field; what is left out has its default."""
    paper = loaded().source
    assert paper is not None
    assert (paper.name, paper.title, paper.venue, paper.year, paper.doi, paper.url) == (
        *("new", "A new paper", "Somewhere", 2020, "10.1/2", ""),
    )
    assert paper.authors == ("A. Author", "B. Author")
    assert (paper.splits_on("heart"), paper.splits_on("sonar")) == (5, 7)
    assert (paper.column("CV5"), paper.column("ELOO")) == ("5-CV", "ELOO")
    assert (paper.printed_only, paper.plain) == (("Magic",), ("k-CV",))
    assert (paper.informative, paper.remarks) == ({"sonar": (3, 4)}, ("One misprint.",))
    bare = loaded(paper="title: x\n", table=CELLS.splitlines()[0] + "\n").source
    assert bare is not None
    assert (bare.splits, bare.plain, bare.claims) == (1, ("k-CV", "ELOO"), ())


def test_notes_on_methods_and_main_claims() -> None:
    """A note may name a method of the config or a criterion with any number of folds."""
    more = "notes: {k-BIF: A series., ELOO: No folds.}\nmain: ['2', '1']\n"
    paper = loaded(paper=FACTS + more + CLAIMS).source
    assert paper is not None
    assert paper.notes == {"k-BIF": "A series.", "ELOO": "No folds."}
    assert paper.main == ("2", "1")
    for wrong, words in (
        (
            "notes: {k-BFI: A series.}\n",
            "notes.k-BFI: 'k-BFI' is not a method of my.yaml; did you mean 'k-BIF'?",
        ),
        ("notes: {ELOO: 3}\n", "notes.ELOO: must be text, not the number 3"),
        ("main: ['12']\n", "main[0]: '12' is the id of no claim"),
    ):
        with pytest.raises(ConfigError, match=re.escape(f":13: {words}")):
            loaded(paper=FACTS + wrong + CLAIMS)


def test_the_claims_of_a_paper() -> None:
    """References become what the config calls them: figures by key, settings with their position."""
    one, two, three, four, five, six, seven, eight, nine, ten = loaded().claims
    assert one == Claim(
        *("1", "lower", "one"),
        left=("k-KS",),
        right=("5-CV", "ELOO"),
        same_folds=True,
        paper_counts="all",
    )
    assert (two.of, two.method, two.parameter, two.range) == ("1", ("5-KS",), "eta", (0.5, 2.0))
    assert (two.figure, six.figure, six.series, six.order) == ("sweep", "sweep", "BIF-k-CV", 3)
    assert (three.printed, three.datasets) == (True, ("heart",))
    assert (four.setting, four.task) == (Setting(1, 0.1), "classification")
    by_c = CONFIG.replace("learner: lssvm", "learner: svm").replace("0.1]}", "0.1], unit: C}")
    by_c = by_c.replace("criteria: [5-CV, {5-KS: {eta: 2}}, ELOO]", "criteria: [5-CV]")
    by_c = by_c.partition("figures:")[0].replace("paper: new\n", "") + C_CLAIM
    assert loaded(by_c).claims[0].setting == Setting(1, 0.1, "C")
    assert five.what == Large("polynomial", "degree", 4.0)
    assert (seven.times, seven.table, seven.without) == (5.0, "1", ("heart",))
    assert (eight.everywhere, eight.datasets) == (True, ())
    assert (nine.untested, ten.features) == ("too long", "informative")


def test_claims_of_a_config_stand_after_those_of_its_paper() -> None:
    own = "claims:\n  - {id: mine, kind: same, text: me, left: ELOO, right: k-CV}\n"
    assert [c.id for c in loaded(CONFIG + own).claims][-2:] == ["10", "mine"]
    alone = loaded(CONFIG.replace("paper: new\n", "") + own)
    assert (alone.source, [c.id for c in alone.claims]) == (None, ["mine"])


MISTAKES = [
    # the paper
    ("title:", "titel:", ":1: titel: unknown key; did you mean 'title'?"),
    ("authors: [A. Author, B. Author]", "authors: A", ":2: authors: must be a list"),
    ("year: 2020", "year: soon", ":4: year: must be a whole number, 1 or more, not the text 'soon'"),
    ("splits: 5", "splits: 0", ":6: splits: must be a whole number, 1 or more"),
    ("splits-of: {sonar", "splits-of: {sonnar", ":7: splits-of.sonnar: unknown data set 'sonnar'; did"),
    ("CV5: 5-CV", "CV5: 5-VC", ":8: aliases.CV5: '5-VC' is not a method of my.yaml; did you mean '5-CV'?"),
    ("CV5: 5-CV", "CV6: 5-CV", ":8: aliases.CV6: no column of published/new.csv; did you mean 'CV5'?"),
    ("[Magic]", "[Magc, Magic]", ":9: printed-only[0]: no column of published/new.csv; did you mean 'Magic'?"),
    ("plain: [k-CV]", "plain: [5-CV]", ":10: plain[0]: unknown criterion '5-CV'; did you mean 'k-CV'?"),
    ("[3, 4]", "3", ":11: informative.sonar: must be a list of features"),
    ('["One misprint."]', "[1]", ":12: remarks[0]: must be text, not the number 1"),
    # its claims
    ("left: k-KS", "left: k-KV", ":14: claims[0].left: 'k-KV' is not a method of my.yaml; did you mean 'k-KS'?"),
    ("[5-CV, ELOO]", "[5-CV, ELO]", ":14: claims[0].right: 'ELO' is not a method of my.yaml; did you mean 'ELOO'?"),
    ("same-folds: true", "same-fold: true", ":14: claims[0].same-fold: a claim of the kind 'lower' has no such"),
    ("same-folds: true", "same-folds: yes", ":14: claims[0].same-folds: must be true or false"),
    ('{id: "1", kind: lower', '{kind: lower', ":14: claims[0]: id: this key is missing"),
    ('id: "2", of', 'id: "1", of', ":15: claims[1].id: there is another claim '1'"),
    ("kind: robust", "kind: robst", ":15: claims[1].kind: unknown kind of claim 'robst'; did you mean 'robust'?"),
    ("parameter: eta", "parameter: eto", ":15: claims[1].parameter: unknown parameter of 5-KS; did you mean"),
    ("[2^-1, 2]", "[2, 1]", ":15: claims[1].range: must be the two ends of a range"),
    ("range: [2^-1, 2], figure: 3", "range: [2^-1, 2], figure: 4", ":15: claims[1].figure: '4' is not a figure"),
    ("range: [2^-1, 2], figure: 3", "range: [2^-1, 2]", ":15: claims[1]: figure: this key is missing"),
    ("left: Magic", "left: Magik", ":16: claims[2].left: 'Magik' is not under printed-only in"),
    ("datasets: heart", "datasets: hart", ":16: claims[2].datasets: unknown data set 'hart'; did you mean"),
    ("lam = 0.1", "lambda = 0.1", ":17: claims[3].setting: 'lambda = 0.1' is not a setting such as lam=0.001"),
    ("task: classification", "task: other", ":17: claims[3].task: must be classification or regression"),
    ("{degree: 4}", "{degre: 4}", ":18: claims[4].what: unknown parameter of polynomial; did you mean 'degree'?"),
    ("{polynomial: {degree: 4}}", "degree", ":18: claims[4].what: must be a kernel with a least value"),
    ("figure: sweep", "figure: swep", ":19: claims[5].figure: 'swep' is not a figure of my.yaml; did you"),
    ("order: 3", "order: -1", ":19: claims[5].order: must be a whole number, 0 or more"),
    ("BIF-k-CV", "BIF-k-VC", ":19: claims[5].series: 'BIF-k-VC' is not a method of my.yaml; did"),
    ("times: 5", "times: 0", ":20: claims[6].times: must be positive"),
    ("table: 1", "table: 9", ":20: claims[6].table: '9' is not a table of the CSV"),
    ("without: [heart]", "without: [hearts]", ":20: claims[6].without: unknown data set 'hearts'; did"),
    ("untested: too long", "order: 1", ":22: claims[8]: a claim of the kind 'near' needs series"),
]  # fmt: skip


@pytest.mark.parametrize(("right", "wrong", "said"), MISTAKES)
def test_a_mistake_in_the_file_of_a_paper(right: str, wrong: str, said: str) -> None:
    """Each is one line with file, line, key and the nearest name."""
    text = FACTS + CLAIMS
    assert right in text
    write(paper=text.replace(right, wrong, 1))
    found = message_of(ConfigError, load_config, MY).splitlines()
    missing = [f"{PAPER}:1: title: this key is missing"] if "titel" in wrong else []
    mine = [line for line in found if line.startswith(str(PAPER)) and line not in missing]
    assert mine == [found[0]]
    assert found[0].startswith(f"{PAPER}{said}")


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("heart,5-KS", "hearts,5-KS", ":3: unknown data set 'hearts'; did you mean 'heart'?"),
        ("heart,5-KS", "heart,5-KZ", ":3: '5-KZ' is not a method of my.yaml; did you mean '5-KS'?"),
        ("lam=0.001", "lambda=0.001", ":3: 'lambda=0.001' is not a setting such as lam=0.001"),
        ("15.2", "x", ":3: mean: 'x' is not a number"),
        ("15.2", "", ":3: mean: is empty"),
        ("14.2,2.0", "14.2,nan", ":4: spread: 'nan' is not a number"),
        (",,se", ",,es", ":3: spread_kind: 'es'; valid: count, sd, se, seconds"),
        ("new,1,heart,5-KS", "nwe,1,heart,5-KS", ":3: paper: 'nwe' is not 'new'"),
        ("15.2,,se", "15.2,se", ":3: must have 8 fields"),
        ("spread_kind", "kind", ":1: the columns must be paper, table, dataset, method"),
        ("heart,5-KS,lam=0.001", "heart,CV5,lam=0.1", ":3: repeats the cell of line 2"),
    ],
)
def test_a_mistake_in_the_table_of_a_paper(right: str, wrong: str, said: str) -> None:
    """Each is one line with file and line."""
    claims = [line for line in CLAIMS.splitlines() if "table:" not in line]
    facts = [line for line in FACTS.splitlines() if not line.startswith(("aliases", "printed"))]
    table = CELLS.replace("Magic", "ELOO").replace("CV5", "5-CV")
    wrong = wrong.replace("CV5", "5-CV")
    paper = "\n".join([*facts, *claims]).replace("left: Magic", "left: ELOO")
    write(paper=paper.replace("printed: true, ", ""), table=table.replace(right, wrong, 1))
    (found,) = message_of(ConfigError, load_config, MY).splitlines()
    assert found.startswith(f"{TABLE}{said}")


def test_mistakes_of_both_files_are_told_at_once() -> None:
    write(
        paper=(FACTS + CLAIMS).replace("left: k-KS", "left: k-KV"), table=CELLS.replace("15.2", "x")
    )
    found = message_of(ConfigError, load_config, MY).splitlines()
    assert [line.partition(": ")[0] for line in found] == [f"{PAPER}:14", f"{TABLE}:3"]


def test_a_mistake_in_a_claim_of_the_config() -> None:
    write(CONFIG + "claims:\n  - {id: mine, kind: same, text: me, left: ELO, right: k-CV}\n")
    said = "my.yaml:11: claims[0].left: 'ELO' is not a method of my.yaml; did you mean 'ELOO'?"
    assert message_of(ConfigError, load_config, MY) == said


def test_an_unknown_paper() -> None:
    write(CONFIG.replace("paper: new", "paper: newer"))
    said = "my.yaml:2: paper: unknown paper 'newer'; did you mean 'new'?"
    assert message_of(ConfigError, load_config, MY) == said
    write(CONFIG.replace("paper: new", "paper: ../new"))
    assert message_of(ConfigError, load_config, MY).startswith("my.yaml:2: paper: unknown paper")


@pytest.mark.parametrize("number", ["[1]", "{}", "", "1.5"])
def test_the_number_of_a_figure_is_a_number_or_text(number: str) -> None:
    write(CONFIG.replace("paper: 3", f"paper: {number}"))
    found = message_of(ConfigError, load_config, MY)
    assert found.startswith("my.yaml:9: figures.sweep.paper: must be a number of the paper, not")


def test_a_part_of_an_experiment_may_name_the_paper() -> None:
    """A claim without its figure or its setting is listed as not tested."""
    bare = CONFIG.partition("figures:")[0].replace("[0.001, 0.1]", "[0.001]")
    untested = {c.id: c.untested for c in loaded(bare).claims if c.untested}
    assert untested == {
        "2": "This config has no figure 3.",
        "4": "This config does not run lam=0.1.",
        "6": "This config has no figure sweep.",
        "9": "too long",
    }
    fewer = bare.replace("{5-KS: {eta: 2}}, ", "")
    assert next(c.left for c in loaded(fewer).claims) == ("k-KS",)


def test_printed_cells_that_the_config_does_not_run_are_named() -> None:
    """A column or a ridge that is valid but absent is no mistake, and is not passed over in silence either."""
    cells = CELLS + "new,1,sonar,6-KS,lam=0.1,1,1,sd\nnew,1,sonar,5-KS,lam=0.2,1,1,sd\n"
    source = loaded(table=cells).source
    assert source is not None
    assert [*source.unmatched] == [
        f"{TABLE}:6: sonar, 6-KS, lam=0.1",
        f"{TABLE}:7: sonar, 5-KS, lam=0.2",
    ]


def test_flags_and_variants_leave_the_claims_alone() -> None:
    """The whole config counts, whatever a flag or a variant keeps of it."""
    whole = loaded(CONFIG + "variants: {fewer: {criteria: [ELOO]}}\n")
    flags = {"datasets": ["sonar"], "criteria": ["ELOO"], "splits": "1"}
    assert load_config(MY, flags).claims == whole.claims
    variant = load(MY, FIGURES, {}, lambda _: Path("nowhere"), "fewer")
    assert variant.asked.labels == ("ELOO",)
    assert (variant.asked.claims, variant.whole.claims) == (whole.claims, whole.claims)
    assert variant.asked.source == whole.source


def test_the_config_of_a_results_folder_may_be_older_than_the_paper() -> None:
    """A figure that it does not have is not an error there."""
    write(paper=(FACTS + CLAIMS).replace("figure: sweep", "figure: 9"))
    found = config_load.load_config(MY, FIGURES, checked=False).claims
    assert {c.id: c.untested for c in found}["6"] == "This config has no figure 9."


def test_a_paper_next_to_the_config_comes_first() -> None:
    write()
    assert paper_file("new", MY) == PAPER
    assert own_files("new", MY) == (PAPER, TABLE)
    home = packaged("published")
    assert paper_file("ecml2014", MY).resolve() == home.resolve() / "ecml2014.yaml"
    assert (own_files("ecml2014", MY), own_files("", MY)) == ((), ())
    PAPER.rename(PAPER.with_name("ecml2014.yaml"))
    assert own_files("ecml2014", MY) == (PAPER.with_name("ecml2014.yaml"),)


def test_papers_do_not_touch_each_other() -> None:
    """A config without a paper has no claims, and one paper does not see another's."""
    write()
    plain = CONFIG.replace("paper: new\n", "")
    MY.write_text(plain, encoding="utf-8")
    assert (load_config(MY).source, load_config(MY).claims) == (None, ())
    for name in OURS:
        claims = load_config(ROOT / f"configs/{name}.yaml").claims
        text = (ROOT / f"data/published/{name}.yaml").read_text(encoding="utf-8")
        assert [c.id for c in claims] == [entry["id"] for entry in yaml.safe_load(text)["claims"]]


# The five papers


@pytest.mark.parametrize("name", OURS)
def test_every_claim_of_our_papers_can_be_judged(name: str) -> None:
    """Every figure, setting and method that a claim names is in the config; every claim is tested."""
    experiment = load_config(ROOT / f"configs/{name}.yaml")
    figures = {figure.name for figure in experiment.figures}
    for claim in experiment.claims:
        assert claim.figure in figures | {""}
        assert claim.kind in KEYS
        assert not claim.untested, claim
        known = {*experiment.labels, *(m.criterion for m in experiment.table)}
        named = {*claim.left, *claim.right, *claim.pool, *claim.method, *claim.against}
        assert experiment.source is not None
        assert named <= known | {*experiment.source.printed_only}
    assert experiment.source is None or not experiment.source.unmatched


def test_the_numbers_of_our_papers() -> None:
    """All 67 claims, so many printed cells, and the one cell that was once overlooked."""
    claims = {name: load_config(ROOT / f"configs/{name}.yaml").claims for name in OURS}
    assert {name: [c.id for c in found] for name, found in claims.items()} == {
        name: ids.split() for name, ids in IDS.items()
    }
    assert sum(map(len, claims.values())) == 67
    cells = {}
    for name in OURS:
        path = ROOT / f"data/published/{name}.csv"
        text = path.read_text(encoding="utf-8") if path.is_file() else "paper\n"
        cells[name] = len(list(csv.DictReader(text.splitlines())))
    assert cells == {
        "ecml2014": 125,
        "flkl2014": 162,
        "icml2014": 312,
        "ijcai2018": 216,
        "tcyb2018": 0,
    }
    text = (ROOT / "data/published/ecml2014.csv").read_text(encoding="utf-8")
    assert "ecml2014,1,diabetes,5-KS,lam=0.1,29.83,2,sd\n" in text


def test_the_documented_kinds_are_those_that_exist() -> None:
    """The table of data/README.md names every kind of claim, and every key of a paper's file."""
    text = (ROOT / "data/README.md").read_text(encoding="utf-8")
    section = text.partition("## Papers")[2]
    for kind in KEYS:
        assert f"`{kind}`" in section
    for path in (ROOT / "data/published").glob("*.yaml"):
        for key in yaml.safe_load(path.read_text(encoding="utf-8")):
            assert f"`{key}`" in section


DANGLING = re.compile(
    r"^(These|Those|This|That|It|They)\b|\b(such (values?|an?)|the (proposed|three|new|other) \w+)\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("path", sorted(packaged("published").glob("*.yaml")), ids=lambda p: p.stem)
def test_the_text_of_a_claim_needs_no_other_sentence(path: Path) -> None:
    """Summaries show a text by itself: it names its methods, and a claim on a range names the range."""
    paper = yaml.safe_load(path.read_text(encoding="utf-8"))
    texts = [claim["text"] for claim in paper["claims"]]
    assert not [text for text in texts if DANGLING.search(text)]
    assert len(set(texts)) == len(texts)
    for claim in paper["claims"]:
        if "range" in claim:
            low, high = claim["range"]
            assert f"between {low} and {high}" in claim["text"]
    assert set(paper["main"]) <= {claim["id"] for claim in paper["claims"]}
