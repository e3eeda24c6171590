"""The documentation as a site, and the parts of the reference that are made from code."""
