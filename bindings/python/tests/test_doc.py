# SPDX-License-Identifier: MIT
"""The examples of README.md, as doctests."""
import doctest
import pathlib

from cluster import Cluster

README = pathlib.Path(__file__).resolve().parent.parent / "README.md"


def load_tests(loader, tests, pattern):
    cluster = Cluster()
    suite = doctest.DocFileSuite(str(README), module_relative=False, setUp=lambda test: test.globs.update(urls=cluster.urls))
    list(suite)[0].addCleanup(cluster.close)
    tests.addTests(suite)
    return tests
