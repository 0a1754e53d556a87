"""The commands: thin, no arithmetic."""
