"""Accounts: people, sessions, passwords, tokens."""
