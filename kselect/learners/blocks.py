"""Products ``A A^T`` of some rows of a factor: the blocks of the folds, one or a stack of them."""

from __future__ import annotations

import numpy as np

from kselect.numerics.linalg import Array

# Multiplications in a product that BLAS takes for a small one: its rows are not worth a call of their own.
SMALL_PRODUCT = 1_000_000
# Up to so many BLAS multiplies four small matrices at once faster than it updates each: .9 of the time and less.
TINY_PRODUCT = 100_000


def gram_of_rows(A: Array) -> Array:
    """``A A^T`` in Fortran order.

    numpy makes a symmetric rank update of it, half the work of a product, and unlike scipy's wrapper of the
    same routine it lets other threads run meanwhile.
    """
    product: Array = (A @ A.T).T
    return product


def identity_minus(product: Array) -> Array:
    """``I - product``, in its place; Fortran-ordered, so that its transpose is flat."""
    np.negative(product, out=product)
    product.T.reshape(-1)[:: len(product) + 1] += 1.0
    return product


def stacked(rows: Array, shares: Array) -> Array:
    """``A_F diag(share) A_F^T`` for folds (k, m, r) and ridges (n_ridges, r): (k, n_ridges, m, m).

    Symmetric rank updates, as above; BLAS multiplies tiny matrices, four at once, faster than it updates them.
    """
    (k, m, r), ridges = rows.shape, len(shares)
    if m * m * r > TINY_PRODUCT:
        scaled = rows[:, None] * np.sqrt(shares)[:, None]
        return np.asarray(scaled @ scaled.swapaxes(-1, -2))
    scaled = rows[:, None] * shares[:, None]
    together = next(t for t in (4, 2, 1) if ridges % t == 0)
    across = np.ascontiguousarray(rows.swapaxes(-1, -2))[:, None]
    product = scaled.reshape(k, ridges // together, together * m, r) @ across
    return product.reshape(k, ridges, m, m)


def identity_minus_each(products: Array) -> Array:
    """``I - product`` of each in a stack, in its place."""
    np.negative(products, out=products)
    m = products.shape[-1]
    products.reshape(-1, m * m)[:, :: m + 1] += 1.0
    return products
