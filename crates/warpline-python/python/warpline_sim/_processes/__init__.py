"""Processes written in Python: sites, what processes queue for, and generators that wait.

``_world`` has the world, ``_facilities`` what it has beside its records, ``_check`` looks for mistakes
before anything is compiled, ``_env`` is what the engine knows of a process that waits, ``_compiler``
compiles generators with Numba, and ``_interpreter`` runs them without.
"""
