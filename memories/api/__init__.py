"""The REST API: authentication, validation, pagination, idempotency and one view per resource."""
