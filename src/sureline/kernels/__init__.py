"""Compiled loops over sparse rows; they know no paper, no file and no scikit-learn."""
