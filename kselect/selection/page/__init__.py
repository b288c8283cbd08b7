"""The page of a choice, which ``select`` and ``fit`` write with ``--report``."""
