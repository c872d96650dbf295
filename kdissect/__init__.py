"""kdissect: what really went over the Kafka wire."""

__version__ = "0.1.0"
