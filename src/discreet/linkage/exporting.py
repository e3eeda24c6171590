"""The documented name of `discreet.linkage.export`."""

from discreet.linkage.export import disclosures, export

__all__ = ["disclosures", "export"]
