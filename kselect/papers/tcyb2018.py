"""Kernel Stability for Model Selection in Kernel-Based Algorithms (IEEE Transactions on Cybernetics)."""

from itertools import product

from kselect.datasets.registry import Task
from kselect.papers.base import Claim, Paper, paper

STABLE = ("k-CVKS", "RKS")
# The rivals of the two criteria of kernel stability in section VII, after k-CV; in both lists.
RIVALS = ("SPS", "ELOO", "BR")


def shared(task: Task) -> tuple[Claim, ...]:
    """Return the claims 1 to 4, which both lists share."""
    first = "k-CVKS gives a lower test error than k-CV with the same k"
    others = (
        (number, criterion, rival)
        for (number, rival), criterion in product(enumerate(RIVALS, 2), STABLE)
    )
    return (
        Claim(f"{task.capitalize()}, 1: {first}", "k-CVKS", "k-CV", "lower", task),
        *(
            Claim(
                f"{task.capitalize()}, {number}: {criterion} gives a lower test error than {rival}",
                criterion,
                rival,
                "lower",
                task,
            )
            for number, criterion, rival in others
        ),
    )


TCYB2018 = paper(
    Paper(
        name="tcyb2018",
        splits=50,
        claims=(
            *shared("classification"),
            Claim(
                "Classification, 5: RKS and k-CVKS give the same test error",
                "RKS",
                "k-CVKS",
                "same",
                "classification",
            ),
            *shared("regression"),
        ),
        wording="The lists of section VII, five claims on classification and four on regression, are reconstructed "
        "in our words and order from the comparisons that the paper draws: its tables are not legible in our copy, "
        "so that no published number stands beside ours.",
    )
)
