"""The surface of Discreet: what users rely on, listed so that no change inside can alter it unnoticed.

Each module here collects one part of the surface as items: a name, and a description of it. `snapshot/` holds the agreed lists, one
item a line; `tests/house/test_surface.py` compares the two. No list depends on where inside a room something is defined,
unless the documentation names that place.
"""
