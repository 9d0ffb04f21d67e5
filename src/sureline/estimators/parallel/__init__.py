"""Learning with several threads: shards that are merged."""
