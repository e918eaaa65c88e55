-- Legal holds in force: the patient is not deleted, and nothing about the patient is removed by age. A patient may have
-- several, one per matter. A lifted hold leaves the table; who placed and lifted it, and why, stays in the audit.
CREATE TABLE legal_hold (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  -- No ON DELETE CASCADE: the database itself refuses to delete a patient under hold.
  patient_id uuid NOT NULL REFERENCES patient,
  placed_by text NOT NULL,
  reason text NOT NULL,
  placed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX legal_hold_by_patient ON legal_hold (patient_id);
CREATE INDEX legal_hold_by_account ON legal_hold (account_id, placed_at);
SELECT guard_account_table('legal_hold');
-- Placed and lifted by operators only.
REVOKE INSERT, UPDATE, DELETE ON legal_hold FROM exchange_app, exchange_system;
GRANT INSERT, DELETE ON legal_hold TO exchange_admin;
