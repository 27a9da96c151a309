"""Local caches of the objects of a kind: informers, and the reflector and store they consist of."""
