"""Compile the SVM's loops into the cache next to them, so that test processes do not each compile them.

This takes some ten seconds of one core if the cache is empty, and no time otherwise. ``conftest`` starts it.
"""

from __future__ import annotations

from forks import die_with_parent

from kselect.learners.svm.compilation import ensure_compiled

if __name__ == "__main__":
    die_with_parent()
    ensure_compiled()
