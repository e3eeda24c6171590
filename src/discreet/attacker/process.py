"""The documented name of `discreet.reference.process`."""

from discreet.reference.process import ACCESS, EXPLOIT, LINK, TERMINATE, Process, State, replace_state

__all__ = ["ACCESS", "EXPLOIT", "LINK", "TERMINATE", "Process", "State", "replace_state"]
