"""Records real Kafka traffic on the loopback interface into small pcapng files."""
