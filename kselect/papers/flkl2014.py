"""Kernel Learning at the First Level of Inference (Neural Networks, 2014)."""

from kselect.papers.base import Paper, RankClaim, SpreadClaim, paper

# Figures 4 and 5.
SHOWN = ("twonorm", "thyroid", "splice")

FLKL2014 = paper(
    Paper(
        name="flkl2014",
        splits=100,
        splits_of={"image": 20, "splice": 20},
        aliases={
            f"{kernel}-{method}-LSSVM": f"{kernel}-{method}"
            for kernel in ("RBF", "ARD")
            for method in ("LOO", "XVAL", "FLKL")
        },
        rank_claims=(
            RankClaim(
                "With ARD, FLKL ranks before LOO and XVAL",
                "ARD-FLKL",
                ("ARD-LOO", "ARD-XVAL"),
                "before",
            ),
            RankClaim(
                "With RBF, FLKL, LOO and XVAL do not differ",
                "RBF-FLKL",
                ("RBF-LOO", "RBF-XVAL"),
                "same",
            ),
            RankClaim(
                "ARD-FLKL does not rank after RBF",
                "ARD-FLKL",
                ("RBF-LOO", "RBF-XVAL", "RBF-FLKL"),
                "not after",
            ),
            RankClaim("ARD-FLKL and ARD-BR do not differ", "ARD-FLKL", ("ARD-BR",), "same"),
        ),
        spread_claims=(
            SpreadClaim(
                "ARD-FLKL's kernel parameters vary less over splits than ARD-XVAL's",
                "ARD-FLKL",
                "ARD-XVAL",
                SHOWN,
                "variation",
            ),
            SpreadClaim(
                "ARD-FLKL suppresses irrelevant features more strongly than ARD-XVAL",
                "ARD-FLKL",
                "ARD-XVAL",
                SHOWN[1:],  # all features of twonorm are relevant, alike
                "suppression",
            ),
        ),
    )
)
