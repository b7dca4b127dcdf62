"""The bodies, queries and answers of the HTTP contract, as pydantic models; OpenAPI is made from them."""
