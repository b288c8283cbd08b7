"""Data files in a config: valid entries, their errors, and the entry that a results folder keeps."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kselect.config.load import load, load_config
from kselect.datasets.dataset import OwnInfo
from kselect.datasets.table.raw_table import TableOptions
from kselect.errors import ConfigError
from kselect.report.sections import FIGURES

WINE = "acid,colour,quality\n" + "".join(f"{i % 7},{'rw'[i % 2]},{i * i % 31}\n" for i in range(40))
HEAD = """\
name: my
learner: {classification: lssvm, regression: krr}
kernels: {gaussian: {tau: [1, 2]}}
lam: {select: [0.1, 1]}
criteria: [5-CV]
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "wine.csv").write_text(WINE)


def config(*entries: str, head: str = HEAD) -> Path:
    """Write a config next to the data."""
    path = Path("my.yaml")
    path.write_text(head + "datasets:\n" + "".join(f"  - {entry}\n" for entry in entries))
    return path


def own(path: Path) -> OwnInfo:
    """Return the only data set of the user's own."""
    (info,) = load_config(path, FIGURES).own
    assert isinstance(info, OwnInfo)
    return info


def test_an_entry() -> None:
    info = own(config("heart", "{name: red, file: data/wine.csv, target: acid, drop: [colour]}"))
    assert (info.name, info.task, info.rows, info.features) == ("red", "classification", 40, 1)
    assert info.target == "acid"
    assert info.options == TableOptions(drop=("colour",))
    experiment = load_config(Path("my.yaml"), FIGURES)
    assert experiment.datasets == ("heart", "red")
    assert experiment.info("red").task == "classification"


def test_optional_keys() -> None:
    info = own(config("{file: data/wine.csv}"))
    assert (info.name, info.task, info.target) == ("wine", "regression", None)


def test_paths_are_relative_to_the_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = config("{file: data/wine.csv}").resolve()
    monkeypatch.chdir(tmp_path / "data")
    assert own(path).rows == 40


def test_every_key_has_an_effect() -> None:
    seen = set()
    for more in ("", "task: classification", "missing: drop", "categorical: acid", "target: 1"):
        info = own(config(f"{{file: data/wine.csv, {more}}}"))
        seen.add(yaml.safe_dump({k: str(v) for k, v in info.reading.items()}))
    assert len(seen) == 5


def test_flags_select_it_by_name() -> None:
    path = config("heart", "{file: data/wine.csv}")
    assert load_config(path, FIGURES, {"datasets": ("wine",)}).datasets == ("wine",)
    with pytest.raises(ConfigError, match="--dataset: unknown data set 'win'; did you mean 'wine'"):
        load_config(path, FIGURES, {"datasets": ("win",)})


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{name: red}", "datasets[0]: an own data set needs a file, as in {name"),
        ("{file: data/wine.csv, taget: acid}", "datasets[0].taget: unknown key; did you mean 'target'?"),
        ("{file: data/wine.csv, target: acit}", "datasets[0].file: data/wine.csv: no column 'acit'"),
        ("{file: no.csv}", "datasets[0].file: no.csv: No such file or directory"),
        ("{file: 3}", "datasets[0].file: must be text, not the number 3"),
        ("{file: data/wine.csv, name: heart}", "datasets[0].name: heart is a data set of kselect"),
        ("{file: data/wine.csv, name: a/b}", "datasets[0].name: 'a/b' is not a plain folder name"),
        ("{file: data/wine.csv, task: ranking}", "datasets[0].task: must be one of classification"),
        ("{file: data/wine.csv, missing: no}", "datasets[0].missing: must be one of impute, drop"),
        ("{file: data/wine.csv, drop: {a: b}}", "datasets[0].drop: must be a column or a list"),
        ("{file: data/wine.csv, rows: none}", "datasets[0].rows: must be a whole number"),
        ("{file: data/wine.csv, sha256: abc}", "datasets[0].file: data/wine.csv: wrong checksum"),
        ("{file: data/wine.csv, drop: colour, numeric: colour}", "column colour is dropped"),
    ],
)  # fmt: skip
def test_mistakes(entry: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(config(entry), FIGURES)
    assert str(error.value).startswith("my.yaml:7: datasets[0]")
    assert said in str(error.value)


def test_two_entries_with_the_same_name() -> None:
    with pytest.raises(ConfigError, match="another file is already called wine"):
        load_config(config("{file: data/wine.csv}", "{file: data/wine.csv, target: acid}"), FIGURES)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("scale-on: all\n", "scale-on: all scales with the test rows"),
        ("train: given\n", "wine has no given splits"),
        ("fewer-splits: {wine: 2}\n", ""),
        ("learner: lssvm\n", ""),
    ],
)
def test_with_other_keys(line: str, said: str) -> None:
    head = (
        HEAD.replace("learner: {classification: lssvm, regression: krr}\n", "")
        if "learner" in line
        else HEAD
    )
    path = config("{file: data/wine.csv}", head=head + line)
    if not said:
        load_config(path, FIGURES)
        return
    with pytest.raises(ConfigError, match=said):
        load_config(path, FIGURES)


def test_a_kept_entry_needs_no_file() -> None:
    path = config("{file: data/wine.csv, drop: colour}", "heart")
    folder = Path("results/my")
    loaded = load(path, FIGURES, {}, lambda _: folder)
    folder.mkdir(parents=True)
    (folder / "config.resolved.yaml").write_text(loaded.resolved)
    before = own(path)
    Path("data/wine.csv").rename("data/moved.csv")
    kept = own(folder / "config.resolved.yaml")
    assert kept.path.resolve() == before.path.resolve()
    assert (kept.rows, kept.sha256, kept.reading) == (before.rows, before.sha256, before.reading)
    again = load(folder / "config.resolved.yaml", FIGURES, {}, lambda _: folder)
    assert again.resolved == loaded.resolved


def test_a_narrower_config_keeps_the_entries_of_the_folder() -> None:
    folder = Path("results/my")
    loaded = load(config("{file: data/wine.csv}", "heart"), FIGURES, {}, lambda _: folder)
    folder.mkdir(parents=True)
    (folder / "config.resolved.yaml").write_text(loaded.resolved)
    narrow = load(config("heart"), FIGURES, {}, lambda _: folder)
    assert narrow.asked.datasets == ("heart",)
    assert set(narrow.whole.datasets) == {"heart", "wine"}
    assert narrow.whole.info("wine").task == "regression"
