"""The PostgreSQL gateway. Not furnished yet."""
