"""Other people's interfaces over trecpy's core: thin, no arithmetic of a measure."""
