// Makes this file a module, whose declaration adds to that of the schema.
export {};

declare module '../database/schema.ts' {
  interface Database {
    erasure: {
      kind: 'blob' | 'workflow';
      ref: string;
      /** Null for a message about a person who is no patient of any account. */
      account_id: string | null;
      noted_at: Instant;
    };
  }
}
