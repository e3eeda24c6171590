"""Commands of the command line: one module per verb or group of verbs."""
