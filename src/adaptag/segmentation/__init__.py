"""Word segmentation: text → words, new words, dictionaries of the user's own."""
