"""Selections on dask workers, which are processes: the numbers of one machine, whatever happens to a worker."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from kselect.cli.main import cli
from kselect.datasets.table.blocks import layout, line_ends, read_block
from kselect.datasets.table.frames import read_frame
from kselect.datasets.table.raw_table import TableOptions
from kselect.errors import ConfigError, DataError
from kselect.selection.distributed import DaskRows

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")

ROWS, BLOCK = 330, 64
FLAGS = ("--nystrom", "20", "--tau", "1,8", "--lam", "1e-4,1e-2")


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two worker processes."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:  # type: ignore[no-untyped-call]
        yield made


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make blocks of 64 rows, here and on the workers, which are told where each block lies."""
    for module in ("datasets.table.blocks", "learners.blocks", "datasets.prepare"):
        monkeypatch.setattr(f"kselect.{module}.BLOCK", BLOCK)


def written(folder: Path, *, classes: bool = False) -> pd.DataFrame:
    """Write a table with a gap, a category and a column far from zero, as CSV, Parquet and a folder of Parquet."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["a", "b", "far"])
    frame["far"] += 1e7
    frame["kind"] = rng.choice(["red", "green", "blue, dark"], ROWS)
    frame.loc[[3, 200], "b"] = np.nan
    y = np.sin(frame["a"]) + (frame["kind"] == "red") + 0.1 * rng.normal(size=ROWS)
    frame["y"] = np.where(y > y.median(), "yes", "no") if classes else y
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_parquet(folder / "t.parquet", row_group_size=50)
    (folder / "parts").mkdir()
    frame[:100].to_parquet(folder / "parts" / "a.parquet")
    frame[100:].to_parquet(folder / "parts" / "b.parquet", row_group_size=70)
    return frame


def selected(path: Path, *flags: str) -> dict[str, Any]:
    """Return the object that ``select --json`` prints."""
    result = CliRunner().invoke(cli, ["select", str(path), *FLAGS, *flags, "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def same_choice(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Require equal numbers to 1e-10."""
    for key in ("scores", "best", "held_out", "features", "classes", "n"):
        if key == "scores":
            values = [[line["score"] for line in found[key]] for found in (one, other)]
            np.testing.assert_allclose(*values, rtol=1e-10)
        elif key == "best":
            assert one[key]["lam"] == other[key]["lam"]
            assert one[key]["tau"] == other[key]["tau"]
        else:
            assert one[key] == other[key]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "parts"])
def test_workers_find_the_numbers_of_one_machine(
    name: str, cluster: LocalCluster, tmp_path: Path
) -> None:
    written(tmp_path)
    local = selected(tmp_path / "t.csv")
    remote = ("--backend", "dask", "--scheduler", cluster.scheduler_address)
    same_choice(selected(tmp_path / name, *remote), local)


@pytest.mark.parametrize(
    "flags", [("--criterion", "ELOO"), ("--loss", "zero-one"), ("--scale", "minmax")]
)
def test_classes_and_other_criteria(
    flags: tuple[str, ...], cluster: LocalCluster, tmp_path: Path
) -> None:
    written(tmp_path, classes=True)
    local = selected(tmp_path / "t.csv", *flags)
    remote = ("--backend", "dask", "--scheduler", cluster.scheduler_address)
    same_choice(selected(tmp_path / "t.csv", *flags, *remote), local)


def test_a_model_fitted_on_workers_predicts_like_one_fitted_here(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    written(tmp_path, classes=True)
    remote = ("--backend", "dask", "--scheduler", cluster.scheduler_address)
    runner, said = CliRunner(), []
    for name, more in (("here", ()), ("there", remote)):
        model = str(tmp_path / f"{name}.npz")
        made = runner.invoke(cli, ["fit", str(tmp_path / "t.csv"), *FLAGS, *more, "-o", model])
        assert made.exit_code == 0, made.output
        said.append(runner.invoke(cli, ["predict", model, str(tmp_path / "t.csv")]).stdout)
    assert said[0] == said[1]


def test_a_worker_that_dies_costs_its_blocks_only(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path)
    local = selected(tmp_path / "t.csv")
    plain, killed = DaskRows.map, []

    def killing(self: DaskRows, *arguments: Any) -> Iterator[list[Any]]:
        results = plain(self, *arguments)
        yield next(results)
        if not killed:
            victim = next(iter(self.client.run(os.getpid).values()))
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)
        yield from results

    monkeypatch.setattr(DaskRows, "map", killing)
    remote = ("--backend", "dask", "--scheduler", cluster.scheduler_address)
    same_choice(selected(tmp_path / "t.csv", *remote), local)
    assert len(killed) == 1


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--scheduler", "tcp://127.0.0.1:1"), "--scheduler needs --backend dask"),
        (("--backend", "dask", "--missing", "drop"), "--missing drop changes the rows"),
        (("--backend", "dask", "--missing", "error"), "t.csv:5: column b: is missing"),
        (("--backend", "dask", "--criterion", "5-BIF"), "only "),
    ],
)
def test_what_blocks_cannot_do_is_refused(
    flags: tuple[str, ...], words: str, cluster: LocalCluster, tmp_path: Path
) -> None:
    written(tmp_path)
    address = () if "--scheduler" in flags else ("--scheduler", cluster.scheduler_address)
    asked = ["select", str(tmp_path / "t.csv"), *FLAGS, *flags, *address]
    result = CliRunner().invoke(cli, asked)
    assert result.exit_code != 0
    assert words in f"{result.output}{result.exception}"


def test_a_gap_in_a_later_block_can_be_an_error(cluster: LocalCluster, tmp_path: Path) -> None:
    frame = written(tmp_path)
    frame.loc[3, "b"] = 0.0
    frame.to_csv(tmp_path / "t.csv", index=False)
    flags = ("--missing", "error", "--backend", "dask", "--scheduler", cluster.scheduler_address)
    result = CliRunner().invoke(cli, ["select", str(tmp_path / "t.csv"), *FLAGS, *flags])
    assert str(result.exception).endswith("t.csv: column b: is missing")


def test_blocks_are_the_rows_of_the_file(tmp_path: Path) -> None:
    frame = written(tmp_path)
    for name in ("t.csv", "t.parquet", "parts"):
        found, schema, _ = layout(tmp_path / name, "y", TableOptions())
        assert found.n == ROWS
        assert [b.rows for b in found.blocks] == [64] * 5 + [10]
        parts = [read_block(b, schema, tmp_path / name) for b in found.blocks]
        read = np.concatenate([part.data[0] for part in parts])
        np.testing.assert_array_equal(read, frame["a"])


def test_a_folder_is_read_whole_like_its_blocks(tmp_path: Path) -> None:
    frame = written(tmp_path)
    frame.loc[:99, "kind"] = "red"  # the files have different levels
    frame["kind"] = frame["kind"].astype("category")
    frame.to_parquet(tmp_path / "t.parquet")
    for name, rows in (("a", frame[:100]), ("b", frame[100:])):
        rows = rows.assign(kind=rows["kind"].cat.remove_unused_categories())
        rows.to_parquet(tmp_path / "parts" / f"{name}.parquet", row_group_size=70)
    whole, one = read_frame(tmp_path / "parts", "y"), read_frame(tmp_path / "t.parquet", "y")
    found, schema, _ = layout(tmp_path / "parts", "y", TableOptions())
    blocks = [read_block(b, schema, tmp_path / "parts") for b in found.blocks]
    for i, column in enumerate(whole.data):
        np.testing.assert_array_equal(column, one.data[i])
        np.testing.assert_array_equal(np.concatenate([b.data[i] for b in blocks]), column)
    frame[100:].rename(columns={"a": "c"}).to_parquet(tmp_path / "parts" / "b.parquet")
    with pytest.raises(DataError, match=r"parts: b.parquet has other columns than a.parquet"):
        read_frame(tmp_path / "parts", "y")


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("t.csv.gz", gzip.compress(b"x,y\n1,2\n", mtime=0), "a packed file"),
        ("t.csv", "x,y\n1,2\n".encode("utf-16"), "UTF-16"),
        ("t.csv", b'{"x": 1, "y": 2}\n{"x": 2, "y": 1}\n', "JSON lines"),
        ("t.feather", b"ARROW1\0\0\n", "Feather"),
    ],
)
def test_files_without_blocks_are_refused_by_name(
    name: str, content: bytes, what: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=f"{name}: {what}, but blocks of rows are read from CSV"):
        layout(tmp_path / name, None, TableOptions())


def test_work_is_divided_so_that_workers_end_together() -> None:
    """Three blocks are six halves for two workers, and one block is as many tasks as it takes."""

    class Two:
        def nthreads(self) -> dict[str, int]:
            return {"one": 1, "other": 1}

    def shares(*sizes: int) -> int:
        return DaskRows(cast("Client", Two()), (), sizes, 1).shares(12)

    assert [shares(9, 9), shares(9, 9, 9), shares(9), shares(9, 9, 9, 5)] == [1, 2, 2, 2]


def test_a_line_break_between_quotes_ends_no_line(tmp_path: Path) -> None:
    path = tmp_path / "q.csv"
    path.write_bytes(b'a,"b\nc"\n1,2\n3,4')
    assert list(line_ends(path)) == [8, 12, 15]


def test_an_empty_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("x,y\n1,2\n\n" + "3,4\n" * 9)
    with pytest.raises(DataError, match="one line per row"):
        layout(path, None, TableOptions())


def test_whole_matrices_need_one_machine(cluster: LocalCluster, tmp_path: Path) -> None:
    written(tmp_path)
    asked = ["select", str(tmp_path / "t.csv"), "--backend", "dask"]
    result = CliRunner().invoke(cli, [*asked, "--scheduler", cluster.scheduler_address])
    assert isinstance(result.exception, ConfigError) or "add --nystrom" in result.output
