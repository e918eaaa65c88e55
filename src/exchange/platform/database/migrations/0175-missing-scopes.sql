-- Scopes that were asked for and that the authorization server did not grant, so that every worker that uses the shared token can
-- say so.
ALTER TABLE source_token ADD COLUMN missing_scopes text[];
