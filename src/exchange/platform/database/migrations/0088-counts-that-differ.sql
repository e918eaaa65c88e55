-- By how much a source's own count of its resources of a type differs from ours after a complete collection, by type: it also
-- counts what we do not keep.
ALTER TABLE source_collection ADD COLUMN differences jsonb NOT NULL DEFAULT '{}';
