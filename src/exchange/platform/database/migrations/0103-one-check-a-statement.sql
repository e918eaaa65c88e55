-- The same check of the rows that an account writes, with the account read once for a statement instead of once for a row: an
-- import writes 100,000 patients. Reading is as before. These are the tables that are written in sets.
DO $$
DECLARE t regclass;
BEGIN
  FOREACH t IN ARRAY ARRAY['patient', 'patient_identity_key', 'patient_to_match', 'patient_to_compare', 'patient_search',
    'bulk_patient', 'cohort_member']::regclass[]
  LOOP
    EXECUTE format('ALTER POLICY own_account ON %s
      WITH CHECK (account_id = (SELECT current_setting(''app.account_id'')::uuid))', t);
  END LOOP;
END $$;
