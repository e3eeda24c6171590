"""Reports about logs of scored results: unusual days, and incidents."""

from discreet.report.misuse.anomalies import anomalies_page, anomaly_findings
from discreet.report.misuse.incidents import incident_findings, incidents_page

__all__ = ["anomalies_page", "anomaly_findings", "incident_findings", "incidents_page"]
