"""One module per output format; each writes every view."""
