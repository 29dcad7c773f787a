"""Annotations as request bodies."""

from memories.models.annotation import MAX_DOMAIN_LENGTH
from memories.models.choices import MemoryType
from memories.web.fields import Flag, Float, Identifier, ListOf, OneOf, Text
from memories.web.serializers import StrictObject
from scoring.calibration import DOMAINS

MAX_ANNOTATIONS = 1_000
DOMAIN_HELP = f"splits the calibration: {', '.join(DOMAINS)}, or another"


class NewAnnotationSerializer(StrictObject):
    """One annotator's label of a memory."""

    memory = Identifier()
    annotator = Text(max_length=200, help_text="name of the annotator; agreement is computed between names")
    type = OneOf(choices=MemoryType.values, help_text="the type the annotator assigns")
    right = Flag(help_text="whether the statement is true")
    confidence = Float(min_value=0, max_value=1, help_text="the confidence the annotator assigns")
    domain = Text(max_length=MAX_DOMAIN_LENGTH, allow_blank=True, default="", help_text=DOMAIN_HELP)

    def validate_domain(self, domain: str) -> str:
        """One spelling of a domain, so that its annotations form one split."""
        return " ".join(domain.casefold().split())


class AnnotationBatchSerializer(StrictObject):
    """Annotations to store."""

    annotations = ListOf(child=NewAnnotationSerializer(), max_length=MAX_ANNOTATIONS, min_length=1)
