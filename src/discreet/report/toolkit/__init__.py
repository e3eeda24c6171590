"""Parts of every report: markup, page, components, words."""
