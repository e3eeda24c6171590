"""Room: one copy per recipient, decoys, marks and tracing. Not furnished yet."""
