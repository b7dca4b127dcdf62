"""How the search index behaves as it grows: build rate, latency, exactness, disk, on a real OpenSearch node."""
