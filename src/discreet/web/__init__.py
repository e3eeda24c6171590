"""The web application. Not furnished yet."""
