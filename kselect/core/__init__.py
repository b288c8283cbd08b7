"""Frozen values that pass between the stages; nothing here imports a stage."""
