"""The append-only ledger of disclosures, and budgets with one spender. Not furnished yet."""
