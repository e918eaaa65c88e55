-- A worker of a build before 0069 treats what messages reported (ids with the namespace `m-…~`) as missing from a network's
-- complete answer, and would retire it while it runs beside a newer build. So an account's transaction removes such a
-- resource only while its subject is being recorded; any other deletion leaves it where it is. Cascades (a deleted patient)
-- do not pass here. (docs/decisions/0118-queries-keep-what-messages-reported.md)
CREATE POLICY reported_stays ON patient_resource AS RESTRICTIVE FOR DELETE TO exchange_app
  USING (
    converted_from IS NOT NULL
    OR source_id !~ '^m-[0-9a-f]{12}~'
    OR EXISTS (
      SELECT FROM recorded_subject s
      WHERE s.patient_id = patient_resource.patient_id AND s.wanted > s.recorded
        AND right(s.subject_id::text, 12) = substr(patient_resource.source_id, 3, 12)));

-- What was retired that way before is recorded again by reconcile.
UPDATE recorded_subject s SET wanted = wanted + 1, changed_at = now()
WHERE EXISTS (
  SELECT FROM retired_resource r
  WHERE r.patient_id = s.patient_id AND r.query_id IS NOT NULL AND r.converted_from IS NULL
    AND r.source_id ~ '^m-[0-9a-f]{12}~' AND substr(r.source_id, 3, 12) = right(s.subject_id::text, 12));
