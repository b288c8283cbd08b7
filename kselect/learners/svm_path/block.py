r"""Sequential minimal optimisation in blocks (second-order working sets, Fan, Chen and Lin 2005).

A block holds the free rows and those of the others that violate most; within it a step costs what its few rows
cost, and all of h is brought up to date once a block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kselect.learners.svm_path.compiled import compiled
from kselect.learners.svm_path.quadratic import Quadratic, Rows
from kselect.numerics.linalg import Array

# Of each side so many rows that are not free; they are told apart by so many classes of violation.
SIDE, CLASSES = 64, 64
# With more free rows than that they have to violate as well: a block takes memory.
MOST_FREE = 2048
# Steps per row of a block, and the share of the violation that they leave.
STEPS, LEFT = 8, 0.1
# Less than any h.
NEVER = 1e300


class Block(NamedTuple):
    """The rows W, padded to a multiple of eight; ``gain`` holds the inverse curvatures of their pairs."""

    W: Rows
    K: Array
    gain: Array
    low: Array
    high: Array
    ridge: Array
    beta: Array
    h: Array


@compiled
def choose(q: Quadratic, beta: Array, h: Array, C: float, top: float, bottom: float) -> Rows:
    """The free rows, and of those that can rise or fall the ones that violate most."""
    middle = 0.5 * (top + bottom) if q.bias else 0.0
    scale = CLASSES / max(top - middle, middle - bottom)
    counts = np.zeros((2, CLASSES), np.int64)
    kind, n, free = np.full(len(h), -1, np.int64), len(h), 0
    for t in range(n):
        free += C * q.low[t] < beta[t] < C * q.high[t]
    for t in range(n):
        off = h[t] - middle
        rises, falls = beta[t] < C * q.high[t], beta[t] > C * q.low[t]
        if rises and falls and free <= MOST_FREE:
            kind[t] = 2 * CLASSES
        elif (off > 0.0 and rises) or (off < 0.0 and falls):
            at = min(int(abs(off) * scale), CLASSES - 1)
            kind[t] = at if off > 0.0 else CLASSES + at
            counts[0 if off > 0.0 else 1, at] += 1
    least, left = np.zeros(2, np.int64), np.full(2, 2 * SIDE)
    for side in range(2):
        total, at = counts[side, CLASSES - 1], CLASSES - 1
        while at > 0 and total + counts[side, at - 1] <= SIDE:
            at -= 1
            total += counts[side, at]
        least[side] = at
    found, count = np.empty(n, np.int64), 0
    for t in range(n):
        if kind[t] < 0:
            continue
        side = kind[t] // CLASSES
        if side < 2:
            if kind[t] % CLASSES < least[side] or left[side] == 0:
                continue
            left[side] -= 1
        found[count] = t
        count += 1
    return found[:count]


@compiled
def gather(q: Quadratic, W: Rows, beta: Array, h: Array, C: float, floor: float) -> Block:
    """What is known about these rows, side by side."""
    w = len(W)
    padded = (w + 7) // 8 * 8
    S, gain = np.zeros((w, padded)), np.zeros((w, padded))
    v = np.zeros((5, padded))
    for a in range(w):
        row = q.K[W[a]]
        for c in range(w):
            S[a, c] = row[W[c]]
        v[0, a], v[1, a], v[2, a] = C * q.low[W[a]], C * q.high[W[a]], q.ridge[W[a]]
        v[3, a], v[4, a] = beta[W[a]], h[W[a]]
    for a in range(w):
        for c in range(w):
            curvature = S[a, a] + S[c, c] - 2.0 * S[a, c]
            gain[a, c] = 1.0 / (curvature if curvature > floor else floor)
    return Block(W, S, gain, v[0], v[1], v[2], v[3], v[4])


@compiled
def largest(x: Array) -> float:
    """The largest number, in eight lanes, which a processor compares at once."""
    a = b = c = d = e = f = g = h = -2.0 * NEVER
    for t in range(0, len(x), 8):
        a, b, c, d = max(a, x[t]), max(b, x[t + 1]), max(c, x[t + 2]), max(d, x[t + 3])
        e, f, g, h = max(e, x[t + 4]), max(f, x[t + 5]), max(g, x[t + 6]), max(h, x[t + 7])
    return float(max(max(max(a, b), max(c, d)), max(max(e, f), max(g, h))))


@compiled
def place(x: Array, value: float) -> int:
    """Where a number is; without a way out, so that the processor takes several at once."""
    at = 0
    for t in range(len(x)):
        if x[t] == value:
            at = t
    return at


@compiled
def mark(k: Block, up: Array, down: Array, t: int) -> None:
    """Whether a row can rise, and fall: 0, or less than anything."""
    up[t] = 0.0 if k.beta[t] < k.high[t] else -NEVER
    down[t] = 0.0 if k.beta[t] > k.low[t] else -NEVER


@compiled
def pairs(k: Block, tolerance: float, limit: int) -> int:
    """beta and h are changed in place until no pair violates more than the tolerance; the steps made."""
    h = k.h
    n = len(h)
    up, down, tops, x = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for t in range(n):
        mark(k, up, down, t)
        tops[t] = h[t] + up[t]
    for step in range(limit):
        top = largest(tops)
        for t in range(n):
            x[t] = down[t] - h[t]
        if top + largest(x) <= tolerance:
            return step
        i = place(tops, top)
        scale = k.gain[i]
        for t in range(n):
            gap = top + x[t]
            gap = gap if gap > 0.0 else 0.0
            x[t] = gap * gap * scale[t]
        j = place(x, largest(x))
        rise, fall = k.high[i] - k.beta[i], k.beta[j] - k.low[j]
        shift = min((top - h[j]) * scale[j], rise, fall)
        k.beta[i] = k.high[i] if shift == rise else k.beta[i] + shift
        k.beta[j] = k.low[j] if shift == fall else k.beta[j] - shift
        mark(k, up, down, i)
        mark(k, up, down, j)
        row, other = k.K[i], k.K[j]
        for t in range(n):
            h[t] -= shift * (row[t] - other[t])
            tops[t] = h[t] + up[t]
    return limit


@compiled
def singles(k: Block, tolerance: float, limit: int) -> int:
    """As ``pairs`` without a bias: the row of the largest decrease moves alone; the steps made."""
    h = k.h
    for step in range(limit):
        i, worst, most = -1, 0.0, 0.0
        for t in range(len(k.W)):
            if k.beta[t] < k.high[t] if h[t] > 0.0 else k.beta[t] > k.low[t]:
                worst = max(worst, abs(h[t]))
                decrease = h[t] * h[t] / (k.K[t, t] + k.ridge[t])
                if decrease > most:
                    i, most = t, decrease
        if worst <= tolerance or i < 0:
            return step
        row = k.K[i]
        moved = k.beta[i] + h[i] / (row[i] + k.ridge[i])
        moved = min(max(moved, k.low[i]), k.high[i])
        shift = moved - k.beta[i]
        k.beta[i] = moved
        for t in range(len(h)):
            h[t] -= shift * row[t]
    return limit
