"""Count the functions, modules and types of kselect that one trial and one report run through.

    python tests/bench/functions.py             one trial of quickstart, and the report of ecml2014
    python tests/bench/functions.py --names     the same, with their names

A function counts once, even if it is called several times; lambdas, comprehensions and
class bodies do not count. A type counts
if a value of it is made: these are the forms that a number may take on its way.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import inspect
import io
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = str(ROOT / "kselect")


@contextlib.contextmanager
def traced() -> Iterator[tuple[set[CodeType], set[type]]]:
    """Collect the code of every function that is called inside the block, and the types of new values."""
    seen: set[CodeType] = set()
    types: set[type] = set()

    def watch(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            seen.add(frame.f_code)
            if frame.f_code.co_name == "__init__":
                types.add(type(frame.f_locals[frame.f_code.co_varnames[0]]))

    sys.setprofile(watch)
    try:
        yield seen, types
    finally:
        sys.setprofile(None)


def by_module(seen: set[CodeType]) -> dict[str, list[str]]:
    """Return the functions of each module, without lambdas, comprehensions and module bodies."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    for code in seen:
        # The body of a class is code, too, but it is not optimised as a function is.
        is_function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        if code.co_filename.startswith(PACKAGE) and is_function:
            found[str(Path(code.co_filename).relative_to(PACKAGE))].add(code.co_qualname)
    return {module: sorted(names) for module, names in sorted(found.items())}


def report(folder: Path) -> Callable[[], object]:
    """Return the work of one report: the stored results of ecml2014, read, judged and written."""
    from kselect.cli.main import cli

    copy = folder / "ecml2014"
    shutil.copytree(ROOT / "results" / "ecml2014", copy)
    return lambda: cli.main(["report", str(copy)], standalone_mode=False)


def trial() -> Callable[[], object]:
    """Return the work of one trial: every method of quickstart on the first split of heart."""
    from kselect.cli.run import read_experiment
    from kselect.core.job import Trial
    from kselect.datasets.fetch import Places, resolve
    from kselect.run.trial import run_trial

    experiment = read_experiment(ROOT / "configs" / "quickstart.yaml", {}).asked
    source = resolve(experiment.info("heart"), Places(ROOT / "data" / "cache", offline=True))
    methods = experiment.methods_on("heart", 0)
    return lambda: run_trial(experiment, Trial("heart", 0, methods, source))


def main() -> None:
    """Print the counts, and the names of the functions if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--names", action="store_true", help="list the functions and types")
    names = parser.parse_args().names
    with tempfile.TemporaryDirectory() as folder:
        for title, work in (("trial", trial()), ("report", report(Path(folder)))):
            with contextlib.redirect_stdout(io.StringIO()), traced() as (seen, types):
                work()
            found = by_module(seen)
            made = sorted(t.__name__ for t in types if t.__module__.startswith("kselect."))
            functions = sum(map(len, found.values()))
            print(f"{title}: {functions} functions in {len(found)} modules, {len(made)} types")
            for module, inside in found.items() if names else ():
                print(f"  {module}: {', '.join(inside)}")
            print(f"  types: {', '.join(made)}" if names else "", end="\n" * names)


if __name__ == "__main__":
    main()
