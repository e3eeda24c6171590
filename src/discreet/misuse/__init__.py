"""Room: the misuse score of a query result, and what a user already knows. Not furnished yet."""
