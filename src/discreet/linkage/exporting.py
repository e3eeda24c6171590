"""The documented name of `discreet.linkage.export`."""

from discreet.linkage.export import DECISIONS, DISCLOSURES, Exported, Format, clusters_of, disclosures, export

__all__ = ["DECISIONS", "DISCLOSURES", "Exported", "Format", "clusters_of", "disclosures", "export"]
