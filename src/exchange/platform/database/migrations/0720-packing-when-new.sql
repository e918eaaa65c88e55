-- In a database that is new, records are packed (0670) from the start. One that others have worked with stays as it was: processes of
-- 0.2.0, which cannot read packed records, may still run beside it (docs/operations/packs.md).
SET LOCAL ROLE exchange_system;
UPDATE packing SET mode = 'pack' WHERE NOT EXISTS (SELECT FROM account);
RESET ROLE;
