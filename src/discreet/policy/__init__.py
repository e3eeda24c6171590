"""The custodian's policy: which column plays which role, how values generalise, which limits hold."""

from discreet.policy.draft import Draft, write_draft
from discreet.policy.model import Limits, Misuse, Policy
from discreet.policy.schema import Role, json_schema

__all__ = ["Draft", "Limits", "Misuse", "Policy", "Role", "json_schema", "write_draft"]
