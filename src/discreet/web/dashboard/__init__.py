"""Dashboard and activity."""
