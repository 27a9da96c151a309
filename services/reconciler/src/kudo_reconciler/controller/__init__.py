"""The work queue, its workers, and the reconcile of an Instance.

One module for each state of an Instance: `idle`, `scheduled`, `deletion`.
"""
