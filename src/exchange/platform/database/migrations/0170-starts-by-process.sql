-- The processes that have started the work and have not said how it ended. A start counts only when its process is gone: a
-- process that lives removes itself here, later if PostgreSQL was away (docs/decisions/0061-work-that-ends-its-process.md).
ALTER TABLE activity_start ADD COLUMN processes text[] NOT NULL DEFAULT '{}';
