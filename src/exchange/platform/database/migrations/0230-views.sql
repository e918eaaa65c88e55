-- Runs of ViewDefinitions (docs/analytics.md): exports whose files are tables.
ALTER TABLE bulk_export
  -- Format, form and definitions; null: the files are the resources themselves.
  ADD COLUMN view_plan jsonb,
  -- SHA-256 of caller, cohort, form and definitions, hex: an incremental run follows one with the same.
  ADD COLUMN view_key text,
  -- The run that an incremental one follows; patients of that run who are no longer in this one are told of.
  ADD COLUMN base_id uuid,
  -- Slices that were written by a build that knows views. One that does not would write the resources, so it fails here.
  ADD COLUMN known_slices integer NOT NULL DEFAULT 0,
  ADD CONSTRAINT views_are_known CHECK (view_plan IS NULL OR slices = known_slices) NOT VALID;
CREATE INDEX bulk_export_by_view ON bulk_export (account_id, view_key, created_at) WHERE view_key IS NOT NULL;
