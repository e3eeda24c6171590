"""Extra sso: what a provider signed is read, and nothing else."""

from __future__ import annotations

from joserfc import jwt
from joserfc.jwk import RSAKey

from discreet.web.accounts.single_sign_on import read_token
from discreet.web.framework.problems import Problem

key, other = (RSAKey.generate_key(2048, {"kid": "k"}) for _ in range(2))
published = {"keys": [key.as_dict(private=False)]}
assert read_token(jwt.encode({"alg": "RS256", "kid": "k"}, {"sub": "ann"}, key), published) == {"sub": "ann"}
refused = False
try:
    read_token(jwt.encode({"alg": "RS256", "kid": "k"}, {"sub": "ann"}, other), published)
except Problem:
    refused = True
assert refused, "another key was taken"
