-- Deliveries that share a key may still be several things: a shared number with another drug, a value beyond precision.

-- `told`: what of a delivery must not get lost when it is united with others.
-- `family_id`: shared by all that share keys, directly or through others; they are grouped together. Null of what an
-- older version merged. `record_key.resource_id` holds it too, from the second version of the rules on.
ALTER TABLE record_origin
  ADD COLUMN told jsonb NOT NULL DEFAULT '{}',
  ADD COLUMN family_id uuid;
CREATE INDEX record_origin_by_family ON record_origin (patient_id, family_id);
