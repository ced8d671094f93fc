"""Diffs, exactly: parse, clean, chunk, and put findings on lines. Pure functions, no I/O."""

from bot.diff.anchor import Unanchored, anchor, lines_at, make_place
from bot.diff.chunk import Chunk, ChunkTooSmallError, chunk_files
from bot.diff.clean import CleanedDiff, CleanedFile, RemovedHunks, Skipped, clean_diff, estimate_tokens
from bot.diff.model import Diff, FileDiff, FileStatus, Hunk, Line, LineKind
from bot.diff.parse import DiffSyntaxError, parse_diff, parse_patch
from bot.diff.places import fingerprint, is_commentable
from bot.diff.replacement import fit_replacement
from bot.diff.rules import Rule

__all__ = [
    "Chunk",
    "ChunkTooSmallError",
    "CleanedDiff",
    "CleanedFile",
    "Diff",
    "DiffSyntaxError",
    "FileDiff",
    "FileStatus",
    "Hunk",
    "Line",
    "LineKind",
    "RemovedHunks",
    "Rule",
    "Skipped",
    "Unanchored",
    "anchor",
    "chunk_files",
    "clean_diff",
    "estimate_tokens",
    "fingerprint",
    "fit_replacement",
    "is_commentable",
    "lines_at",
    "make_place",
    "parse_diff",
    "parse_patch",
]
