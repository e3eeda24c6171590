"""The ledger for auditors."""
