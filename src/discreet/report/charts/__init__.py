"""Chart primitives as SVG: bars, axes, lines."""
