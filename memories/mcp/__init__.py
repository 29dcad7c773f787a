"""An MCP server in front of the REST API, with the same keys, roles and tenant isolation."""
