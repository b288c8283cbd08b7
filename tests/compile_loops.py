"""Compile the SVM's loops into the cache beside them, so that no two test processes do it at once.

Half a minute of a core where the cache is empty, and nothing where it is not: started by ``conftest``.
"""

from __future__ import annotations

import numpy as np
from forks import die_with_parent

from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners.svm_path import ladder
from kselect.learners.svm_path.gram import Gram

if __name__ == "__main__":
    die_with_parent()
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(50, 2)), np.where(rng.random(50) < 0.5, 1.0, -1.0)
    gram = Gram(Gaussian(1.0).gram(Points(X)))
    task = ladder.hinge_task(gram, y, np.ones(50), True, "to be compiled")
    ladder.climb(task, np.array([0.1, 1.0, 10.0]))
    ladder.slowly(task, 1.0, np.zeros(50))
