"""Tables out: a recoding applied where the rows live, written beside its place, checked, and only then put there."""

from discreet.sources.export.staging import agree, check, staged
from discreet.sources.export.targets import FileTarget, FolderTarget, TableTarget, Target

__all__ = ["FileTarget", "FolderTarget", "TableTarget", "Target", "agree", "check", "staged"]
