"""States, labels and names as metadata and tensors of a model file, and back.

What is read is checked against what it should be before anything is allocated: the file may be
damaged or hostile.
"""
