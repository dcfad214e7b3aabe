"""Files: bytes in, bytes out, and arrays in a safe format."""
