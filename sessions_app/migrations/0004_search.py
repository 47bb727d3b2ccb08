from django.db import migrations

from sessions_app.search import triggers


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0003_owed_reports")]

    operations = [
        migrations.RunPython(triggers.create_tables, triggers.drop_tables),
        migrations.RunPython(triggers.create_triggers, triggers.drop_triggers),
    ]
