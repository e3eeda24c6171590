"""Report of an assessment: findings, charts, one HTML file."""
