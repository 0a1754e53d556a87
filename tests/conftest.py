"""Hypothesis profiles, and the line that says how many conformance cases were run."""

import os

import pytest
from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("default", deadline=None, suppress_health_check=_SLOW, max_examples=100)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.register_profile("long", settings.get_profile("default"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))

CONFORMANCE: dict[str, int] = {}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if CONFORMANCE:
        terminalreporter.write_line(
            "conformance: "
            + ", ".join(f"{count:,} command lines as trec_eval {compat}" for compat, count in CONFORMANCE.items())
        )
