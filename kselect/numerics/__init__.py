"""Numerical steps that several parts of the package share."""
