"""The gateway as custodians see it: who has seen how much, what was refused and why, and limits under four eyes."""
