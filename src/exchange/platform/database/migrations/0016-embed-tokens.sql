-- Embed tokens that were ended before their time. Tokens themselves are not stored: what they may do is in them, signed.
CREATE TABLE embed_token_revocation (
  token_id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  -- Past it the token is refused anyhow, and the row may go.
  expires_at timestamptz(3) NOT NULL,
  revoked_at timestamptz(3) NOT NULL DEFAULT now()
);
SELECT guard_account_table('embed_token_revocation');
