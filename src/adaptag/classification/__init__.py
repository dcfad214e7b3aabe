"""Documents in, their classes out."""
