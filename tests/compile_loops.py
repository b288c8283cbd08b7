"""Compile the SVM's loops into the cache next to them, so that test processes do not each compile them.

This takes half a minute of one core if the cache is empty, and no time otherwise. ``conftest`` starts it.
"""

from __future__ import annotations

import numpy as np
from launch import die_with_parent

from kselect.kernels import Points
from kselect.kernels.gaussian import Gaussian
from kselect.learners.svm.ladder import climb, hinge_dual
from kselect.learners.svm.quadratic import kernel_matrix
from kselect.learners.svm.smo_fallback import solve_by_smo

if __name__ == "__main__":
    die_with_parent()
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, size=(50, 2)), np.where(rng.random(50) < 0.5, 1.0, -1.0)
    q = hinge_dual(kernel_matrix(Gaussian(1.0).gram(Points(X))), y, np.ones(50), True)
    climb(q, np.array([0.1, 1.0, 10.0]), "to be compiled")
    solve_by_smo(q, 1.0, np.zeros(50), "to be compiled")
