-- What an HL7 v2 message held of what is read: names of fields (PID-11), and hashes of the sender's own codes with their field
-- (OBR-4 1f3a…). Never a value of the message. Null: a message from before, or of another format. For operators.
ALTER TABLE inbound_message ADD COLUMN filled text[], ADD COLUMN own_codes text[];

-- How the messages of senders of the last day differ from those of the week before, by kind of message: a field that nine of ten
-- held and none holds any more, and codes of the sender's own that it did not use, in at least a twentieth of the messages. Kinds
-- of which there are fewer than 20 messages before and 10 since are left out: their ways are not known.
-- `since`: the smallest id (UUID of version 7) of the eight days.
CREATE FUNCTION sender_drift(since uuid) RETURNS TABLE (sender text, kind text, place text, drift text, messages integer)
LANGUAGE sql STABLE AS $$
  WITH recent AS (
    SELECT m.id, m.sender, m.kind || ' ' || m.trigger AS kind, m.filled, m.own_codes, m.received_at > now() - interval '1 day' AS is_new
    FROM inbound_message m WHERE m.id >= since AND m.filled IS NOT NULL
  ), known AS (
    SELECT r.sender, r.kind, count(*) FILTER (WHERE is_new) AS new, count(*) FILTER (WHERE NOT is_new) AS old
    FROM recent r GROUP BY 1, 2 HAVING count(*) FILTER (WHERE is_new) >= 10 AND count(*) FILTER (WHERE NOT is_new) >= 20
  ), vanished AS (
    SELECT k.sender, k.kind, place, k.new FROM known k JOIN recent r USING (sender, kind) CROSS JOIN unnest(r.filled) AS place
    GROUP BY k.sender, k.kind, place, k.new, k.old
    HAVING bool_and(NOT is_new) AND count(*) >= 0.9 * k.old
  ), unknown_codes AS (
    SELECT k.sender, k.kind, split_part(code, ' ', 1) AS place, count(DISTINCT r.id) AS messages
    FROM known k JOIN recent r USING (sender, kind) CROSS JOIN unnest(r.own_codes) AS code
    WHERE r.is_new AND NOT EXISTS (
      SELECT FROM recent o WHERE o.sender = k.sender AND o.kind = k.kind AND NOT o.is_new AND code = ANY (o.own_codes))
    GROUP BY k.sender, k.kind, split_part(code, ' ', 1), k.new
    HAVING count(DISTINCT r.id) >= 0.05 * k.new
  )
  SELECT v.sender, v.kind, v.place, 'vanished', v.new::integer FROM vanished v
  UNION ALL SELECT u.sender, u.kind, u.place, 'new-codes', u.messages::integer FROM unknown_codes u
  ORDER BY 1, 2, 4, 3
$$;
