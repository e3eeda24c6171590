"""Releases: plans, approval, copies, traces."""
