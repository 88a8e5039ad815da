"""The tests of clusters use the tools of those of pixels, and their conftest.py with the seed."""

import importlib.util
import pathlib
import sys

REFERENCE = pathlib.Path(__file__).resolve().parents[1] / "reference"
sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(REFERENCE)]
specification = importlib.util.spec_from_file_location("reference_conftest", REFERENCE / "conftest.py")
shared = importlib.util.module_from_spec(specification)
specification.loader.exec_module(shared)

pytest_configure, pytest_report_header = shared.pytest_configure, shared.pytest_report_header
pytest_runtest_makereport, rng = shared.pytest_runtest_makereport, shared.rng
pytest_terminal_summary = shared.pytest_terminal_summary
