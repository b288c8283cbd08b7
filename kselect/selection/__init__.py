"""A user's own data: request, engine, estimator."""
