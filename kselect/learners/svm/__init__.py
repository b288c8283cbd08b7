"""The support vector machine: the learner ``svm``, which solves its dual at every C of a path.

``path`` is the learner; it imports the compiled modules when it first solves something.
``ladder`` solves the dual (``quadratic``) from the smallest C to the largest.
``stride`` does this in one compiled call. It follows the solution along C (``active_set``, ``free_rows``),
or searches from a feasible point by sequential minimal optimisation (``working_set``).
``smo_fallback`` solves the few problems at which ``stride`` stops.
``bias_interval`` settles what optimality leaves open, and ``compiled`` connects numba with LAPACK.
``compilation`` compiles all of this once per machine.
"""

from kselect.learners.svm.path import SVMPath, svm

__all__ = ["SVMPath", "svm"]
