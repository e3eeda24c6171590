"""Tables out: a recoding applied where the rows live, written beside its place, checked, and only then put there."""

from discreet.sources.export.targets import FileTarget, FolderTarget, TableTarget, Target
from discreet.sources.writing.checking import agree, check
from discreet.sources.writing.staging import staged

__all__ = ["FileTarget", "FolderTarget", "TableTarget", "Target", "agree", "check", "staged"]
