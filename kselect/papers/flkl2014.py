"""Kernel Learning at the First Level of Inference (Neural Networks, 2014)."""

from kselect.papers.base import Paper, paper

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
    )
)
