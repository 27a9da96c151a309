"""Plans: how they are executed, the runs of them, and their strategies.

`execution` has the entries of a run and the decision about its next steps, `runs` the choice of the
plan that a change needs and the record of runs in the status of an Instance.
"""
