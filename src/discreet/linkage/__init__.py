"""Room: people decide whether two records are one person, seeing as little as possible. Not furnished yet."""
