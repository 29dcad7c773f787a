import pgvector.django.extensions
from django.db import migrations


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        pgvector.django.extensions.VectorExtension(),
    ]
