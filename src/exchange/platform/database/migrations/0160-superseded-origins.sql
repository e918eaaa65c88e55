-- An earlier version of a statement belongs to the resource of the newest one, and nothing of it counts any more.
ALTER TABLE record_origin ADD COLUMN superseded boolean NOT NULL DEFAULT false;
