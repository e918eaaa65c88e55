-- A destination that fails is held: its events wait, and one of them is sent now and then as a probe. One workflow for each
-- destination delivers what could not be delivered at once, so the time of the next attempt is a column of the event.
ALTER TABLE webhook_destination
  -- Different events that failed one after the other, then the probes that failed. A success sets it to 0.
  ADD COLUMN failures integer NOT NULL DEFAULT 0,
  ADD COLUMN failed_event uuid,
  -- Set while the destination is held. The next probe is sent at `held_until`.
  ADD COLUMN held_since timestamptz(3),
  ADD COLUMN held_until timestamptz(3),
  -- When the destination's workflow looks at the events next; null: it has none.
  ADD COLUMN looks_at timestamptz(3);
ALTER TABLE event
  -- Not before this time; null: now.
  ADD COLUMN next_attempt_at timestamptz(3),
  -- When the event became due for the first time, or again by a request to resend it.
  ADD COLUMN opened_at timestamptz(3) NOT NULL DEFAULT now();

-- Open events so far waited in a workflow of their own, by the same schedule.
UPDATE event SET next_attempt_at = last_attempt_at + CASE attempts
    WHEN 1 THEN interval '5 seconds' WHEN 2 THEN interval '5 minutes' WHEN 3 THEN interval '30 minutes'
    WHEN 4 THEN interval '2 hours' WHEN 5 THEN interval '5 hours' WHEN 6 THEN interval '10 hours'
    WHEN 7 THEN interval '14 hours' WHEN 8 THEN interval '20 hours' ELSE interval '24 hours' END
  WHERE status = 'pending' AND attempts > 0;
CREATE INDEX event_open_by_destination ON event (destination_id, seq) WHERE status IN ('pending', 'delivering');
