"""Records of a project: specification, import, folder, pair files."""
