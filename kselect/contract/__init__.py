"""The contract of everything registered: what a criterion, kernel, learner, search or kind of figure must fulfil.

Each check is a function of a part that returns what is wrong, or an empty text. ``kselect check`` runs them on a
plug-in, ``kselect run`` on the parts of a plug-in before any work, and the tests on all parts of the package. A
part may bring an oracle, its slow definition: ``oracle_<name>`` in the same module, with the name of its function
or class in lower case.
"""
