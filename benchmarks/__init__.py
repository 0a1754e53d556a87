"""Workload files, a stand-in for NIST's trec_eval, and timings of whole processes: see README.md."""
