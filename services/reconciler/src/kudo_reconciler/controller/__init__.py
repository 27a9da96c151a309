"""Which Instance is reconciled when, and what each of its states needs.

One module for each state of an Instance: `idle`, `scheduled`, `deletion`.
"""
