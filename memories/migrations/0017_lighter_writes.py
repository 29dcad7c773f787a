from django.db import migrations

# Each of these refers to a row of its namespace that it cannot be without: that reference holds it in the namespace.
HELD = (
    "dailyaccess",
    "entityalias",
    "entityedge",
    "evaluation",
    "judgedquery",
    "judgement",
    "memoryedge",
    "memorysource",
    "memorytag",
    "memoryvector",
    "mention",
    "posting",
    "profileversion",
    "reviewitem",
    "scoreevent",
    "sessionreturn",
    "tokenstates",
    "turn",
    "writepolicyversion",
)


class Migration(migrations.Migration):
    dependencies = [("memories", "0016_measuring")]

    operations = [
        *(migrations.RemoveConstraint(model_name=name, name=f"{name}_namespace_fk") for name in HELD),
        # Bytes that look random: trying to compress them costs more than writing them.
        migrations.RunSQL(
            "ALTER TABLE memories_tokenstates ALTER COLUMN packed SET STORAGE EXTERNAL",
            "ALTER TABLE memories_tokenstates ALTER COLUMN packed SET STORAGE EXTENDED",
        ),
    ]
