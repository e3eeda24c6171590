"""Room: optimal generalisation with a certificate. Not furnished yet."""
