"""Room: the adversary as a planner. Not furnished yet."""
