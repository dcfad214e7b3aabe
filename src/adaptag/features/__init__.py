"""Templates → predicates: what fires at a token."""
