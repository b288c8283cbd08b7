"""``judge`` against autorank, scikit-posthocs, baycomp and scipy, where they compute the same thing."""

from __future__ import annotations

import contextlib
import importlib
import io
import itertools
import warnings
from typing import Any

import error_files
import numpy as np
import pytest
from scipy import stats

from kselect.judge.analysis import Analysis, analyse
from kselect.judge.error_table import read_errors
from kselect.stats.omnibus import Omnibus
from kselect.stats.ranks import critical_difference, holm_adjusted

NAMES = tuple(error_files.KINDS)
ALPHA = 0.05
OURS = {"ttest": "paired t-test", "wilcoxon": "Wilcoxon", "anova": "ANOVA", "friedman": "Friedman"}
POST_HOC = {None: "", "tukeyhsd": "Tukey HSD", "nemenyi": "Nemenyi"}


def other(name: str) -> Any:
    """Import another package, or skip the test; its own warnings are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except ImportError as error:
            pytest.skip(f"{name} cannot be imported: {error}")


def call(function: Any, *args: Any, **options: Any) -> Any:
    """Call a function of another package without its warnings and its output."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return function(*args, **options)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Analysis]:
    """Return our analysis of every file."""
    folder = tmp_path_factory.mktemp("errors")
    paths = {name: error_files.write(name, folder) for name in NAMES}
    return {name: analyse(read_errors(path), ALPHA, 1.0) for name, path in paths.items()}


def test_every_test_is_chosen_by_some_file(found: dict[str, Analysis]) -> None:
    tests = {one.omnibus.name for one in found.values() if one.omnibus}
    assert tests == set(OURS.values())


def omnibus(analysis: Analysis) -> Omnibus:
    """Return the test over data sets, which every file has."""
    assert analysis.omnibus is not None
    return analysis.omnibus


@pytest.mark.parametrize("name", NAMES)
def test_autorank_chooses_and_computes_the_same(name: str, found: dict[str, Analysis]) -> None:
    """Tests, p-values, ranks and effect sizes are autorank's; its Wilcoxon test is one-sided."""
    analysis, data = found[name], error_files.wide(name)
    order = "descending" if analysis.table.higher else "ascending"
    result = call(other("autorank").autorank, data, alpha=ALPHA, verbose=False, order=order)
    ours = omnibus(analysis)
    assert (ours.name, ours.post_hoc) == (OURS[result.omnibus], POST_HOC[result.posthoc])
    assert (ours.assumptions.normal, ours.assumptions.equal_variances) == (
        result.all_normal,
        result.homoscedastic,
    )
    # autorank reorders these by the inverse of the order of its rows, so only the set of them can be compared.
    assert sorted(ours.assumptions.normality) == pytest.approx(sorted(result.pvals_shapiro))
    assert ours.assumptions.variances == pytest.approx(result.pval_homogeneity, abs=1e-9)
    theirs = result.pvalue
    if result.omnibus == "wilcoxon":
        theirs *= 2
    assert ours.p_value == pytest.approx(theirs, abs=1e-9)
    ranks = dict(zip(analysis.table.methods, analysis.ranks.mean, strict=True))
    assert ranks == pytest.approx(dict(result.rankdf["meanrank"]))
    if result.cd is not None:
        limit = critical_difference(len(ranks), len(data), ALPHA)
        assert limit == pytest.approx(result.cd, rel=1e-3)  # theirs is interpolated
    best, sizes = result.rankdf.index[0], result.rankdf["effect_size"]
    for pair in analysis.pairs:
        if best in (pair.first, pair.second):
            rival = pair.second if pair.first == best else pair.first
            sign = 1 if pair.first == best else -1
            assert sign * pair.size.value == pytest.approx(sizes[rival], abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_posthoc_p_values_are_scikit_posthocs(name: str, found: dict[str, Analysis]) -> None:
    """Nemenyi's and Tukey's tests of every pair, and Wilcoxon's with Holm's correction."""
    posthocs = other("scikit_posthocs")
    analysis, values = found[name], error_files.wide(name).to_numpy()
    ours = omnibus(analysis)
    pairs = list(itertools.combinations(range(values.shape[1]), 2))
    if ours.post_hoc == "Nemenyi":
        table = call(posthocs.posthoc_nemenyi_friedman, values).to_numpy()
    elif ours.post_hoc == "Tukey HSD":
        table = call(posthocs.posthoc_tukey, list(values.T)).to_numpy()
    if ours.post_hoc:
        assert ours.pairs == pytest.approx([table[pair] for pair in pairs], abs=1e-9)
    if name != "ties":  # zeros and ties: scipy's default permutes instead of approximating
        table = call(posthocs.posthoc_wilcoxon, list(values.T), p_adjust="holm").to_numpy()
        holm = [pair.over_datasets.p_value for pair in analysis.pairs]
        assert holm == pytest.approx([table[pair] for pair in pairs], abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_tests_are_scipys(name: str, found: dict[str, Analysis]) -> None:
    """Friedman's chi-squared, Tukey's and Wilcoxon's tests, and the plain t-tests over splits."""
    analysis, values = found[name], error_files.wide(name)
    ours, columns = omnibus(analysis), list(values.to_numpy().T)
    if ours.name == "Friedman":
        theirs = stats.friedmanchisquare(*columns)
        assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-9)
        assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    if ours.name == "ANOVA":
        table = stats.tukey_hsd(*columns).pvalue
        pairs = itertools.combinations(range(len(columns)), 2)
        assert ours.pairs == pytest.approx([table[pair] for pair in pairs], abs=1e-9)
    if ours.name == "paired t-test":
        theirs = stats.ttest_rel(*columns)
        assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))
    wilcoxon = []
    for a, b in itertools.combinations(columns, 2):
        d = a - b
        d = d[np.abs(d) > 1e-9]
        method = "exact" if len(set(np.abs(d).round(9))) == len(d) else "approx"
        wilcoxon.append(float(stats.wilcoxon(d.round(9), method=method).pvalue))
    holm = [pair.over_datasets.p_value for pair in analysis.pairs]
    assert holm == pytest.approx(holm_adjusted(wilcoxon), abs=1e-9)
    table = error_files.errors(name).set_index(["dataset", "method"])["error"].sort_index()
    for test in analysis.tests:
        one, two = (table[test.dataset, m].to_numpy() for m in (test.first, test.second))
        difference = one - two
        if np.ptp(difference) > 1e-12:
            theirs = stats.ttest_rel(one, two)
            assert test.p_value == pytest.approx(theirs.pvalue, abs=1e-9)
            scale = np.sqrt((1 / 3) / (1 / 3 + 20 / 60))
            t = theirs.statistic * scale
            assert test.statistic == pytest.approx(t, rel=1e-6)
            assert test.p_corrected == pytest.approx(2 * stats.t.sf(abs(t), 2), abs=1e-9)


@pytest.mark.parametrize("name", ["normal", "two-skewed", "ties"])
def test_bayesian_test_is_baycomps(name: str, found: dict[str, Analysis]) -> None:
    """Both are Monte Carlo estimates, with standard errors of at most 0.0035 and 0.0071."""
    baycomp = other("baycomp")
    analysis, values = found[name], error_files.wide(name)
    for pair in analysis.pairs[:2]:
        assert pair.posterior is not None
        one, two = (values[m].to_numpy() for m in (pair.first, pair.second))
        if analysis.table.higher:
            one, two = two, one
        # baycomp takes scores: its left is where the first is higher, which is worse for errors.
        worse, same, better = call(
            baycomp.SignedRankTest.probs,
            one,
            two,
            rope=1.0,
            nsamples=5000,
            random_state=0,
            prior=0.5,
        )
        ours = (pair.posterior.better, pair.posterior.same, pair.posterior.worse)
        assert ours == pytest.approx((better, same, worse), abs=0.03)
