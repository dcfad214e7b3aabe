"""Workers that train together without a driver, as inside Ray Train."""

from __future__ import annotations

import pytest

pytest.importorskip("ray", reason="a cluster needs Ray", exc_type=ImportError)

import adaptag.ray
from adaptag.ray.connection import connect
from adaptag.ray.peers import Peers
from adaptag.ray.shards import ShardData
from adaptag.ray.train_loop import train_with_peers
from tests.ray.making import CORPUS

pytestmark = pytest.mark.xdist_group("ray")

SENTENCES = [list(line.tokens) for line in CORPUS.train]
LABELS = [list(line.labels) for line in CORPUS.train]
CUT = len(SENTENCES) // 2
SHARDS = [slice(0, CUT), slice(CUT, None)]


def peer(rank, options, rounds):
    import ray

    reports = []
    model = train_with_peers(
        Peers(ray, f"test-{options['algorithm']}", rank, len(SHARDS)),
        ShardData(sentences=SENTENCES[SHARDS[rank]], labels=LABELS[SHARDS[rank]]),
        options,
        rounds,
        lambda history, model=None: reports.append((len(history), model is not None)),
    )
    return model.weights.tobytes(), model.labels, reports


@pytest.mark.parametrize("algorithm", ["adf", "lbfgs"])
def test_peers_train_the_model_that_a_driver_trains(two_nodes, algorithm):
    options = {"algorithm": algorithm, "passes": 3, "seed": 4}
    with connect(two_nodes) as ray:
        remote = ray.remote(num_cpus=0)(peer)
        first, second = ray.get([remote.remote(rank, options, 2) for rank in range(2)])
        model = adaptag.ray.train(SENTENCES, LABELS, workers=2, rounds=2, **options)
    assert first == second
    weights, labels, reports = first
    assert labels == model.labels
    assert weights == model.weights.tobytes()
    assert reports == [(1, False), (2, False), (3, True)]
