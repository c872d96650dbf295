"""The triage report as one self-contained HTML page."""
