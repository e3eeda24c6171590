"""Delivery: releases, copies, and their records in store and ledger."""
