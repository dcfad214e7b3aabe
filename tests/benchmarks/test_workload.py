"""What `benchmarks/workload.py` counts."""

from __future__ import annotations

import numpy as np
import workload

from adaptag.features.index import Encoded


def test_least_recently_used_blocks_leave_the_cache_first():
    cache = workload.Cache(192)
    assert [cache.misses(block, 64) for block in (1, 2, 3)] == [True, True, True]
    assert not cache.misses(1, 64)
    assert cache.misses(4, 64)  # 2 leaves
    assert not cache.misses(1, 64)
    assert cache.misses(2, 64)
    assert cache.misses(5, 192)  # all leave
    assert cache.misses(1, 64)


def test_rows_hold_node_and_edge_weights():
    # Three labels are padded to four: rows of 4, of 4 + 12, and of 12 floats.
    assert workload.rows_of(3, (2, 1, 1)).tolist() == [0, 4, 8, 24, 36]


def test_edge_features_of_all_tokens_count_once_a_sentence():
    offsets = np.array([0, 2, 4, 6])
    encoded = Encoded(np.array([0, 2, 3]), offsets, np.array([0, 9, 1, 9, 2, 9], np.uint32), None)
    kept = workload.once_a_sentence(encoded, first_edge=5)
    assert kept.predicates.tolist() == [0, 1, 9, 2, 9]
    assert kept.positions.tolist() == [0, 1, 3, 5]


def test_operations_of_training_and_decoding():
    encoded = Encoded(np.array([0, 1]), np.array([0, 0]), np.empty(0, np.uint32), None)
    data = workload.Data(None, encoded, 3, 4, np.array([0]), 16, rich=False)
    lattice = 6 * 3 * 4 + workload.EXP * 4
    assert workload.operations(data, 100, training=True) == 400 + lattice
    assert workload.operations(data, 100, training=False) == 200 + 2 * 3 * 4
