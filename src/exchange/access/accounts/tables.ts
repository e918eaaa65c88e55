import type { Generated } from 'kysely';
import type { Scope } from '../../../contract/scope.ts';
import type { AccountSettings } from '../../platform/account.ts';
import type { DefaultJsonColumn } from '../../platform/database/schema.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    account: {
      id: string;
      name: string;
      dialect: Generated<'interface' | 'published'>;
      settings: DefaultJsonColumn<AccountSettings>;
      created_at: Instant;
    };
    api_key: {
      id: string;
      account_id: string;
      prefix: string;
      hash: Buffer;
      label: string | null;
      scopes: Generated<Scope[]>;
      created_at: Instant;
      expires_at: Date | null;
      revoked_at: Date | null;
      last_used_at: Date | null;
    };
  }
}
