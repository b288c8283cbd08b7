"""Frozen values that flow between the stages; nothing here imports a stage."""
