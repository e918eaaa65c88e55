-- As with API keys: an account's own requests end none of its tokens, and bring none back.
REVOKE INSERT, UPDATE, DELETE ON embed_token_revocation FROM exchange_app;
