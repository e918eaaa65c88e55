-- What every request needs, each as one statement that takes the system's role itself: no transaction around it, one trip.
-- Who calls them must be allowed to take that role, as before.

-- Keys with these hashes or ids, also those that are good no more, with their accounts.
CREATE FUNCTION known_api_keys(hashes bytea[], ids uuid[])
RETURNS TABLE (
  key_id uuid, hash bytea, scopes text[], last_used_at timestamptz, state text,
  account_id uuid, dialect text, settings jsonb
)
LANGUAGE plpgsql STABLE SET role = exchange_system AS $$
BEGIN
  RETURN QUERY
    SELECT k.id, k.hash, k.scopes, k.last_used_at,
      CASE WHEN k.revoked_at IS NOT NULL THEN 'revoked' WHEN k.expires_at <= now() THEN 'expired' ELSE 'good' END,
      a.id, a.dialect, a.settings
    FROM api_key k JOIN account a ON a.id = k.account_id
    WHERE k.hash = ANY (hashes) OR k.id = ANY (ids);
END $$;

-- Entries of any accounts, committed together.
CREATE FUNCTION add_audit_entries(entries jsonb) RETURNS void
LANGUAGE plpgsql SET role = exchange_system AS $$
BEGIN
  INSERT INTO audit_entry (account_id, actor, operation, patient_id, target_id, outcome, remote_address)
    SELECT e.account_id, e.actor, e.operation, e.patient_id, e.target_id, e.outcome, e.remote_address
    FROM jsonb_to_recordset(entries) AS e (
      account_id uuid, actor text, operation text, patient_id uuid, target_id text, outcome text, remote_address text
    );
END $$;
