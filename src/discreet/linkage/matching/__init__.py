"""Candidate pairs: blocking, Splink, calibration, thresholds, clusters."""
