-- Consents of patients: who may be asked for their data, given by whom, on what evidence (docs/decisions/0109-consents.md).
-- A row is never changed, only ended, so the rows are the history.
CREATE TABLE consent (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  patient_id uuid NOT NULL REFERENCES patient ON DELETE CASCADE,
  decision text NOT NULL CHECK (decision IN ('permit', 'deny')),
  -- Sources and purposes that it is about; empty: all.
  sources text[] NOT NULL DEFAULT '{}',
  purposes text[] NOT NULL DEFAULT '{}',
  -- From when until when it applies; null: without a limit. The end is exclusive.
  period_start timestamptz(3),
  period_end timestamptz(3),
  -- What the FHIR Consent says besides: performer, organization, evidence, policy. Null: made by the flag hieOptOut.
  resource jsonb,
  recorded_at timestamptz(3) NOT NULL DEFAULT now(),
  -- Who recorded and ended it, as in the audit; null for the flag, whose changes the audit has.
  recorded_by text,
  ended_at timestamptz(3),
  ended_by text
);
CREATE INDEX consent_by_patient ON consent (patient_id, recorded_at, id);
SELECT guard_account_table('consent');

-- The flag hieOptOut is the short form of a denial of the hie source, whoever writes it.
CREATE FUNCTION note_opt_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO consent (id, account_id, patient_id, decision, sources)
    SELECT gen_random_uuid(), account_id, id, 'deny', '{hie}' FROM present WHERE hie_opt_out;
  ELSE
    UPDATE consent SET ended_at = now() FROM present JOIN former USING (id)
    WHERE consent.patient_id = present.id AND consent.resource IS NULL AND consent.ended_at IS NULL
      AND former.hie_opt_out AND NOT present.hie_opt_out;
    INSERT INTO consent (id, account_id, patient_id, decision, sources)
    SELECT gen_random_uuid(), present.account_id, present.id, 'deny', '{hie}' FROM present JOIN former USING (id)
    WHERE present.hie_opt_out AND NOT former.hie_opt_out;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER created_opt_outs_are_consents AFTER INSERT ON patient REFERENCING NEW TABLE AS present
  FOR EACH STATEMENT EXECUTE FUNCTION note_opt_out();
CREATE TRIGGER changed_opt_outs_are_consents AFTER UPDATE ON patient
  REFERENCING NEW TABLE AS present OLD TABLE AS former
  FOR EACH STATEMENT EXECUTE FUNCTION note_opt_out();

INSERT INTO consent (id, account_id, patient_id, decision, sources)
SELECT gen_random_uuid(), account_id, id, 'deny', '{hie}' FROM patient WHERE hie_opt_out;
