"""One model from several: the algebra, states, shards and sums by feature."""
