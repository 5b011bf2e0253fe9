"""Models written in Python: records, handlers, and runs on every engine.

``_records`` has the types of fields, ``_model`` the model, ``_check`` looks for mistakes before
anything is compiled, ``_compiler`` compiles handlers with Numba, and ``_interpreter`` runs them
without.
"""
