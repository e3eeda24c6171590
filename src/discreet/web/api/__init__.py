"""The API for programs, below /api/v1."""
