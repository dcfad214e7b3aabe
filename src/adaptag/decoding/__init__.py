"""Models at work: best labels, probabilities, n best, constraints."""
