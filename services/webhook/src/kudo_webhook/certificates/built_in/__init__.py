"""Built-in certificates: an own authority, for clusters without cert-manager.

Two Secrets of type kubernetes.io/tls hold the state, and every replica does the same passes over
them; there is no leader. `NAME-ca` holds the authority with its key, `NAME` the serving pair (the
leaf) that all replicas serve, with its issuer under `ca.crt`: who may read the serving Secret can
sign nothing. The caBundles of both webhook configurations say what the API server trusts, and they
are the only memory of former authorities.

**Invariant**: at every moment, each leaf that a replica serves verifies against the caBundles as
they are stored; so replacing the leaf or the authority costs no request, whatever the
interleaving of the replicas, and wherever one of them is killed.

A pass (`rotation.py`) reads, in this order, the serving Secret, both configurations and the
authority's Secret, and then writes what is due, in this order:

1. **The authority**, if it is missing, damaged, expired, or past 80 % of its life. The former key
   is gone with that write: nothing is signed with it from then on.
2. **Both caBundles**, so that they hold the authority in force and, besides, what they held
   before. A former authority stays for `Lifetimes.overlap` after its successor was made: by then
   every leaf that it signed has expired, and nothing has to be assumed about the replicas, not
   even that they reach the API server. It also stays as long as the serving Secret needs it.
3. **The leaf**, if it is missing, damaged, expired, past 2/3 of its life, for other names or of
   another authority; but only once this replica has seen the authority in both caBundles for
   `Lifetimes.settling`, the time in which the API servers learn of it. Where no leaf works there
   is nothing to lose, and the leaf is written at once.

A replica takes the stored leaf over when the caBundles that it has read trust its issuer; one
that has nothing to serve yet takes whatever is stored.

Why it holds with several replicas: each write tests the resourceVersion of what it was decided
on, and the loser starts over with what the winner wrote. Between two objects there is no such
test, so the order of the reads stands in for it. What a caBundle held when it was read had been
in the authority's Secret before, so the authority's Secret, read later, shows that authority or a
later one: a pass with an outdated view never removes the authority that somebody else has just
added. And a leaf counts its life from the beginning of the pass that signs it, which takes
`Lifetimes.patience` at most, so that `overlap` bounds its end.

Deleting or damaging either Secret by hand costs nothing: the caBundles are kept, so what is
served goes on working until the new pair is trusted everywhere. An authority that leaked is
replaced by deleting `NAME-ca`, and distrusted at once by clearing the caBundles, at the price of
the requests until the new leaf is served, seconds later.

The webhook configurations must exist for anybody to call us, but not for us to start. Clocks of
replicas may differ by `Lifetimes.backdating`.
"""
