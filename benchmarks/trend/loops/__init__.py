"""What asv measures, commit by commit."""
