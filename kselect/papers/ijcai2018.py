"""Fast Cross-Validation for Kernel-Based Algorithms (IJCAI 2018)."""

from kselect.papers.base import Claim, Paper, paper

IJCAI2018 = paper(
    Paper(
        name="ijcai2018",
        splits=50,
        claims=(
            Claim(
                "k-FBIF gives the same test error as k-CV with the same k (section 5.1)",
                "k-FBIF",
                "k-CV",
                "same",
            ),
            Claim(
                "k-FBIF gives a lower test error than ELOO (section 5.1)", "k-FBIF", "ELOO", "lower"
            ),
            Claim("k-FBIF gives a lower test error than ER (section 5.1)", "k-FBIF", "ER", "lower"),
        ),
        timed_pairs=(("k-CV", "k-FBIF"),),
    )
)
