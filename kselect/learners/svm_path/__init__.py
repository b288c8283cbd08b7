"""The hinge loss, every C at once: what ``kselect.learners.svm`` is made of; imported when a path is used.

A problem (``Task``) is a quadratic programme in a box, with or without ``1^T beta = 0``. Its solution is known once
the status of each row is: at the lower end of its box, free, or at the upper end.

``ladder`` hands all values of C to ``stride``, which is compiled as a whole. That takes a solution along C
(``affine``), flips wrong statuses (``rounds``, ``free``), follows the path row by row (``events``), or searches
from a feasible point (``search``, with SMO in blocks, ``block``, and their exact optimum, ``corner``). Whatever
it finds is computed anew and checked; a C where it finds nothing is left to ``settle``, with ``segment``, ``smo``,
``polish`` and ``descent``.
``lapack`` calls scipy's routines from compiled code, and ``compiled`` says why numba.
"""
