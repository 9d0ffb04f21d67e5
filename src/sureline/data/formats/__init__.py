"""One module per file format, and how the format of an input is detected."""
