"""What is left when commands are killed, interrupted, or run out of disk space."""
