"""Times, memory and agreement of trecpy and its peers: see README.md."""
