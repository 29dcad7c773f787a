"""Changes to a namespace as request bodies: its properties, its embedder."""

from rest_framework.exceptions import ValidationError

from memories.models.choices import Mode
from memories.web.fields import Flag, OneOf, Text
from memories.web.serializers import StrictObject
from memories.writing.rebuild import embedder_error


class ReembedParams(StrictObject):
    """Parameters of a reembed job."""

    embedder = Text(max_length=100)

    def validate_embedder(self, name: str) -> str:
        """Reject an embedder that is not available before the job starts."""
        if message := embedder_error(name):
            raise ValidationError(message)
        return name


class NamespaceChange(StrictObject):
    """Changes to a namespace; omitted fields stay unchanged."""

    title = Text(max_length=200, required=False)
    mode = OneOf(choices=Mode.values, required=False)
    redacts = Flag(required=False, help_text="applies to new writes; stored data stays unchanged")
