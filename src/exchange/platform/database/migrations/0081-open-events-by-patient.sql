-- Open events are looked up by destination or by patient. PostgreSQL also took this index for the lookup by patient, and so read
-- every open event of every account.
DROP INDEX event_open;
