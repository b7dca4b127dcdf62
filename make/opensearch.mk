# A real OpenSearch with the k-NN plugin on loopback, assembled by Maven: needs a JDK of 17 or newer and Maven, no Docker.

.PHONY: opensearch

opensearch: $(VENV)/.laptop ## run an OpenSearch node in the foreground (PORT=9200; LETHE_OPENSEARCH_HEAP=1g)
	@exec env $(RUN) -m lethe_local.opensearch_node
