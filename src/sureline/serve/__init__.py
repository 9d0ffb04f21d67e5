"""A service that answers and learns over HTTP, and loses nothing: `sureline serve`.

`journal` keeps every example that is learned; `hosted` is a model with its journal, in memory;
`application` has the endpoints.
"""
