"""From texts to sparse rows: tokenizer, vocabulary and hashing."""
