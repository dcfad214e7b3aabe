"""What training leaves behind: weights, labels, templates; saved and loaded."""
