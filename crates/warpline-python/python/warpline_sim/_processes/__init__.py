"""Processes written in Python: sites, what processes queue for, and generators that wait.

``_world`` has the world, ``_facilities`` what it has beside its records, ``_check`` looks for
mistakes before anything is compiled, ``_env`` is what the engine knows of a process that waits,
``_compiler`` compiles generators with Numba, what they do with their environment is in ``_types``,
``_overloads`` and ``_spawning``, ``_cache`` keeps that, ``_interpreter`` runs them without, and
``_session`` has a world that goes on step by step.
"""
