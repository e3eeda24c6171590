"""Sockets: server, connections, upstream."""
