"""What training on a cluster would take: bytes that are mixed, and seconds of a pass.

Nothing is measured here but the speed of one core, which is given. A worker hands in 4 bytes for
each weight of the model and 8 for each row (step sizes and rates), and takes over as much; the
blocks are mixed by tasks that are spread over the nodes. So in each mix a node with c workers
sends, and receives, c times that for its workers and as much for the blocks that it mixes.

    python benchmarks/cluster_arithmetic.py [--speed 2.1e6] [--network 25] [--tokens 1e10]
"""

from __future__ import annotations

import argparse
import math

WORKERS = (8, 16, 32, 64, 128, 256)
MODELS = (10**7, 10**8, 10**9)
PER_NODE = 8
ROW = 24  # weights of a row
BITS = 8


def mixed_bytes(weights: float) -> float:
    """What a worker sends in a mix, in bytes; it receives as much."""
    return 4 * weights + 8 * weights / ROW


def mix_seconds(weights: float, network: float) -> float:
    """The time of a mix where the network of the nodes is the limit, in seconds."""
    sent = 2 * PER_NODE * mixed_bytes(weights)
    return sent * BITS / (network * 1e9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--speed", type=float, default=2.1e6, help="tokens per second of one core")
    parser.add_argument("--network", type=float, default=25, help="Gbit/s of a node")
    parser.add_argument("--tokens", type=float, default=1e10, help="tokens of the corpus")
    options = parser.parse_args()
    print(
        f"{options.tokens:.0e} tokens, {options.speed:.1e} tokens per second and core, "
        f"{options.network:g} Gbit/s per node of {PER_NODE} workers\n"
    )
    head = ["Workers", "Mixes in a pass", "Training", *(f"+ mixing {m:.0e}" for m in MODELS)]
    print("| " + " | ".join(head) + " |")
    print("|" + "---:|" * len(head))
    for workers in WORKERS:
        rounds = math.ceil(math.sqrt(workers))
        seconds = options.tokens / options.speed / workers
        cells = [str(workers), str(rounds), f"{seconds:,.0f} s"]
        cells += [f"{rounds * mix_seconds(m, options.network):,.0f} s" for m in MODELS]
        print("| " + " | ".join(cells) + " |")
    print()
    for m in MODELS:
        print(
            f"{m:.0e} weights: {mixed_bytes(m) / 1e9:.2f} GB sent and as much received by each "
            f"worker in a mix, {mix_seconds(m, options.network):.1f} s"
        )


if __name__ == "__main__":
    main()
