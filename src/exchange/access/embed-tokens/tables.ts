import type { Instant } from '../../platform/database/schema.ts';

export interface EmbedTables {
  embed_token_revocation: {
    token_id: string;
    account_id: string;
    expires_at: Date;
    revoked_at: Instant;
  };
}

declare module '../../platform/database/schema.ts' {
  interface Database extends EmbedTables {}
}
