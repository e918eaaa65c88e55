// Makes this file a module, whose declaration adds to that of the schema.
export {};

declare module '../../platform/database/schema.ts' {
  interface Database {
    embed_token_revocation: {
      token_id: string;
      account_id: string;
      expires_at: Date;
      revoked_at: Instant;
    };
  }
}
