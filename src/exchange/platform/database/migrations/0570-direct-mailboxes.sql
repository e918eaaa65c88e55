-- Messages by Direct (docs/decisions/0570-direct-by-a-mailbox.md).

-- The mailbox by which an account sends and receives Direct messages.
CREATE TABLE direct_mailbox (
  account_id uuid PRIMARY KEY REFERENCES account,
  -- Servers and address; the login and the keys are in credentials, encrypted with DATA_KEYS.
  settings jsonb NOT NULL,
  credentials bytea NOT NULL,
  -- How far its folder was read: the numbers of IMAP.
  uid_validity text,
  last_uid bigint NOT NULL DEFAULT 0,
  -- Everything that had arrived by then has been taken in.
  read_through timestamptz(3),
  -- Why it could not be read the last time.
  fault text,
  changed_at timestamptz(3) NOT NULL DEFAULT now()
);
SELECT guard_account_table('direct_mailbox');

-- How a message stands at its recipient: when it was handed over, and the first notification of each kind. A notification may be
-- read before the hand-over is recorded.
CREATE TABLE direct_delivery (
  message_id uuid PRIMARY KEY REFERENCES message ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES account,
  handed_over_at timestamptz(3),
  asks_for_dispatched boolean NOT NULL DEFAULT false,
  processed_at timestamptz(3),
  dispatched_at timestamptz(3),
  failed_at timestamptz(3)
);
SELECT guard_account_table('direct_delivery');
