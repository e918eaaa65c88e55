-- The application writes what happened; when, and in which order, the database says. Its roles can neither date an entry back
-- or ahead, nor choose its id, nor put it at a place of the chain: those columns take their defaults (now(), the identity,
-- null). Sealing sets position and MAC by UPDATE, as before.
REVOKE INSERT ON audit_entry FROM exchange_app, exchange_system;
GRANT INSERT (account_id, actor, operation, patient_id, target_id, outcome, remote_address, times, since, details)
  ON audit_entry TO exchange_app, exchange_system;
