"""Full-domain generalisation: the lattice of levels and the searches on it."""
