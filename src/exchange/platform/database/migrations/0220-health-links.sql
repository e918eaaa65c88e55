-- SMART Health Links (docs/health-links.md): who has one opens a patient's summary without an API key. Neither the secret in its
-- address nor the key of its files is here; both follow from what only the link says.
CREATE TABLE health_link (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  -- Of the secret in the address, and of the key: a key that no longer follows from the secret ends the link.
  secret_sha256 bytea NOT NULL UNIQUE,
  key_sha256 bytea NOT NULL,
  label text,
  -- scrypt: salt and hash.
  passcode bytea,
  -- Wrong passcodes that are still accepted, in the life of the link.
  attempts_left smallint NOT NULL CHECK (attempts_left >= 0),
  is_one_time boolean NOT NULL,
  -- As in the audit.
  created_by text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL,
  revoked_at timestamptz(3),
  -- Of a link for one time.
  used_at timestamptz(3)
);
CREATE INDEX health_link_by_patient ON health_link (patient_id, created_at);
CREATE INDEX health_link_by_end ON health_link (expires_at);
SELECT guard_account_table('health_link');

CREATE FUNCTION utc_text(at timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

CREATE FUNCTION health_link_status(l health_link) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN l.revoked_at IS NOT NULL THEN 'revoked' WHEN l.used_at IS NOT NULL THEN 'used'
    WHEN l.attempts_left = 0 THEN 'locked' WHEN l.expires_at <= now() THEN 'expired' ELSE 'active' END
$$;

-- Each time that a link was opened, for the patient's disclosures.
CREATE TABLE health_link_opening (
  id uuid PRIMARY KEY,
  link_id uuid NOT NULL REFERENCES health_link ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL,
  opened_at timestamptz(3) NOT NULL DEFAULT now(),
  -- Who opened it, as they said.
  recipient text NOT NULL,
  remote_address text,
  -- When its file was fetched by an address of its own, which can be done once.
  fetched_at timestamptz(3)
);
CREATE INDEX health_link_opening_by_link ON health_link_opening (link_id, opened_at);
CREATE INDEX health_link_opening_by_patient ON health_link_opening (patient_id, opened_at);
SELECT guard_account_table('health_link_opening');

-- A link as the interface gives it, with its last openings.
CREATE FUNCTION health_link_json(l health_link) RETURNS json LANGUAGE sql STABLE AS $$
  SELECT json_strip_nulls(json_build_object(
    'id', l.id, 'status', health_link_status(l), 'label', l.label, 'hasPasscode', l.passcode IS NOT NULL,
    'isOneTime', l.is_one_time, 'createdAt', utc_text(l.created_at), 'createdBy', l.created_by,
    'expiresAt', utc_text(l.expires_at), 'openings', coalesce((
      SELECT json_agg(json_build_object('openedAt', utc_text(o.opened_at), 'recipient', o.recipient) ORDER BY o.opened_at DESC)
      FROM (SELECT * FROM health_link_opening WHERE link_id = l.id ORDER BY opened_at DESC LIMIT 20) AS o), '[]')))
$$;

-- Whether a denial of asking sources, the opt-out included, was recorded since and applies now.
CREATE FUNCTION has_denied_since(patient uuid, since timestamptz) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM consent WHERE patient_id = patient AND decision = 'deny' AND labels = '{}'
    AND recorded_at > since AND ended_at IS NULL
    AND coalesce(period_start <= now(), true) AND coalesce(period_end > now(), true))
$$;
