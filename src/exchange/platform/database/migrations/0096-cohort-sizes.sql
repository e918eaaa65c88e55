-- The number of a cohort's patients without counting them: each page of a cohort states it, and counting a million takes
-- longer than the page. What was counted, plus the changes since; `reconcile` adds these up. A change is a row of its own,
-- so that transactions that add patients to one cohort do not wait for each other. No foreign keys, as in 0004.
ALTER TABLE cohort ADD COLUMN patients_counted bigint NOT NULL DEFAULT 0;
CREATE TABLE cohort_size_change (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id uuid NOT NULL,
  cohort_id uuid NOT NULL,
  change bigint NOT NULL
);
CREATE INDEX cohort_size_change_by_cohort ON cohort_size_change (cohort_id) INCLUDE (change);
SELECT guard_account_table('cohort_size_change');

CREATE FUNCTION note_cohort_size() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO cohort_size_change (account_id, cohort_id, change)
    SELECT account_id, cohort_id, count(*) FROM changed GROUP BY account_id, cohort_id;
  ELSE
    INSERT INTO cohort_size_change (account_id, cohort_id, change)
    SELECT account_id, cohort_id, -count(*) FROM changed GROUP BY account_id, cohort_id;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER added_members_are_counted AFTER INSERT ON cohort_member REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_cohort_size();
CREATE TRIGGER removed_members_are_counted AFTER DELETE ON cohort_member REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_cohort_size();

-- The members of before. From the first trigger on no other transaction can change the table.
UPDATE cohort SET patients_counted = counted.patients
FROM (SELECT cohort_id, count(*) AS patients FROM cohort_member GROUP BY cohort_id) AS counted
WHERE counted.cohort_id = cohort.id;
