"""The hinge loss, every C at once: what ``kselect.learners.svm`` is made of; imported when a path is used.

A problem (``Task``) is a quadratic programme in a box, with or without ``1^T beta = 0``. Its solution is known once
the status of each row is: at the lower end of its box, free, or at the upper end.

``gram`` and ``changed`` solve for the free rows, ``segment`` says what given statuses make of every C, ``settle``
finds the statuses, with ``smo`` and ``polish`` where it starts from far away and ``descent`` where nothing else
arrives, and ``ladder`` goes through the values of C. ``compiled`` says why numba.
"""
