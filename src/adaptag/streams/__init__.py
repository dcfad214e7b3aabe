"""Learning from data that comes in: one pass, bounded memory, tested before it is learned."""
