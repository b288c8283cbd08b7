from kselect.stats.counts import WinTieLoss, compare_means, duel
from kselect.stats.samples import Sample


def make(*errors: float | None, ratio: float = 0.25) -> Sample:
    there = {i: e for i, e in enumerate(errors) if e is not None}
    return Sample(there, dict.fromkeys(there, ratio), len(errors) - len(there))


def test_a_duel_by_mean_and_by_both_tests() -> None:
    samples = {
        ("clear", "a"): make(1, 2, 3, 4),
        ("clear", "b"): make(3, 4.1, 5, 6.1),
        ("weak", "a"): make(1, 2, 3, 4),
        ("weak", "b"): make(0, 1, 3.1, 3.1),
        ("same", "a"): make(1, 2),
        ("same", "b"): make(2, 1),
    }
    result = duel("a", "b", samples, {"clear": 4, "weak": 4, "same": 5, "absent": 10})
    assert [o.dataset for o in result.outcomes] == ["clear", "weak", "same"]
    assert result.by_mean == WinTieLoss(1, 1, 1)
    assert result.by_ttest == WinTieLoss(1, 1, 1)  # weak: t = 2.68 > 2.35
    assert result.by_corrected == WinTieLoss(1, 2, 0)  # weak: 1.90 < 2.35
    assert (result.pairs, result.planned) == (10, 23)


def test_the_correction_uses_the_size_of_the_test_part() -> None:
    def losses(ratio: float) -> int:
        samples = {("d", "a"): make(1, 2, 3, 4, ratio=ratio), ("d", "b"): make(0, 1, 3.1, 3.1)}
        return duel("a", "b", samples, {"d": 4}).by_corrected.losses

    assert (losses(0.01), losses(0.4)) == (1, 0)


def test_a_failure_drops_the_pair() -> None:
    samples = {("d", "a"): make(1, None, 9), ("d", "b"): make(2, 2, None)}
    outcome = duel("a", "b", samples, {"d": 3}).outcomes[0]
    assert outcome.by_mean == 1
    assert outcome.by_ttest is None
    assert outcome.pairs == 1


def test_no_shared_split_is_no_comparison() -> None:
    samples = {("d", "a"): make(1, None), ("d", "b"): make(None, 2)}
    assert duel("a", "b", samples, {"d": 2}).by_mean == WinTieLoss(0, 0, 0)


def test_rounding_is_no_difference() -> None:
    assert compare_means(0.1 + 0.2, 0.3) == 0
    assert compare_means(1e-5, 1.001e-5) == 1
