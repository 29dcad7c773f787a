"""Recall for models that call tools: an MCP server in front of the REST API, with its keys, roles and walls."""
