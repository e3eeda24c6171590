"""Tables out: a recoding applied where the rows live, written beside its place, checked, and only then put there."""

from discreet.sources.writing.checking import agree, check
from discreet.sources.writing.staging import staged
from discreet.sources.writing.targets import FileTarget, FolderTarget, TableTarget, Target

__all__ = ["FileTarget", "FolderTarget", "TableTarget", "Target", "agree", "check", "staged"]
