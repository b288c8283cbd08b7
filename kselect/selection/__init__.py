"""Kernel and ridge for a user's own data: request, engine, estimators, model files."""
