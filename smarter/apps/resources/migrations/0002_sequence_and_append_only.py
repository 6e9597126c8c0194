"""The sequence of resource versions, and the triggers that make the audit trail append-only."""

from django.db import migrations

FORWARD = """
CREATE SEQUENCE resources_version_seq;

CREATE FUNCTION resources_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;

CREATE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON resources_auditevent
    FOR EACH ROW EXECUTE FUNCTION resources_audit_is_append_only();

CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON resources_auditevent
    FOR EACH STATEMENT EXECUTE FUNCTION resources_audit_is_append_only();
"""

BACKWARD = """
DROP TRIGGER audit_no_truncate ON resources_auditevent;
DROP TRIGGER audit_no_change ON resources_auditevent;
DROP FUNCTION resources_audit_is_append_only();
DROP SEQUENCE resources_version_seq;
"""


class Migration(migrations.Migration):
    dependencies = [("resources", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
