"""The result of training: weights, labels, templates; saved and loaded."""
