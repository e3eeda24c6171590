"""Tracing: from claims or a leaked file to recipients."""
