"""From texts to sparse rows: words, n-grams and characters, each with a column of its own."""
