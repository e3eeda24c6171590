"""Linkage in the web application: projects, their making, and what a reviewer sees."""
