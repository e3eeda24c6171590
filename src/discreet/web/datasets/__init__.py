"""Data sets: tables of people that custodians brought here, their policies, and where they are."""
