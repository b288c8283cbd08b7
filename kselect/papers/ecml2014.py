"""Preventing Over-Fitting of Cross-Validation with Kernel Stability (ECML 2014)."""

from kselect.papers.base import Claim, Paper, paper

ECML2014 = paper(
    Paper(
        name="ecml2014",
        splits=10,
        claims=(
            Claim(
                "k-KS gives a lower test error than k-CV with the same k", "k-KS", "k-CV", "lower"
            ),
            Claim("k-KS gives a lower test error than BR", "k-KS", "BR", "lower"),
        ),
    )
)
