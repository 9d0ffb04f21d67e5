"""Wrong labels: texts whose labels are probably wrong, and duplicates of texts."""
