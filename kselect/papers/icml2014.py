"""Efficient Approximation of Cross-Validation for Kernel Methods (ICML 2014)."""

from kselect.papers.base import Claim, Paper, TimedPair, paper

ICML2014 = paper(
    Paper(
        name="icml2014",
        splits=10,
        claims=(
            Claim(
                "BIF-k-CV gives the same test error as k-CV with the same k",
                "BIF-k-CV",
                "k-CV",
                "same",
            ),
            Claim(
                "BIF-k-CV gives a lower test error than EP (in the paper on 16 of 20 data sets)",
                "BIF-k-CV",
                "EP",
                "lower",
            ),
        ),
        exact_order=3,
        timed_pairs=(TimedPair("k-CV", "BIF-k-CV", "BIF", 3.0, "one inverse of n"),),
    )
)
