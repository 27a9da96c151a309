"""Test suites of operator packages, in the format of `kubectl kudo test` and kuttl.

`suite` reads suites and finds what is wrong with them, `planning` says what is done for the lines
that ask for a cluster, `running` runs the cases, `matching` and `cel` compare asserts with objects,
`failing` tells why one failed, `report` writes results. What a run needs of the program around it
is `host.Host`.
"""
