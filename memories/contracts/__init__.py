"""The typed structures that the edges serve: frozen dataclasses, from which serializers, schemas and types derive."""
