"""Local copies of the objects of a kind: reflector, store, informers."""
