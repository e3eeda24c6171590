"""How sensitive values are: experts are asked in their browsers, each with answers of their own."""
