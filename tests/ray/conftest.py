"""One cluster of two nodes for all tests of this folder, which run in one process: see xdist_group.

A test connects to it by its address; no connection outlives a test.
"""

from __future__ import annotations

import signal

import pytest

from tests.ray.making import save_models


@pytest.fixture(scope="session")
def cluster_of_two():
    """A cluster of two nodes with a CPU each."""
    pytest.importorskip("ray", reason="a cluster needs Ray", exc_type=ImportError)
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 100 << 20, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    try:
        cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
        yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture(scope="session")
def two_nodes(cluster_of_two):
    """The address of a cluster of two nodes with a CPU each."""
    return cluster_of_two.address


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """A folder with a tagger, a segmenter and a classifier."""
    return save_models(tmp_path_factory.mktemp("models"))


@pytest.fixture(autouse=True)
def _ends():
    """Fail where processes wait for each other for ever."""

    def fail(*_):
        raise TimeoutError("the test takes longer than two minutes")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
