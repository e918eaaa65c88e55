import type { Generated } from 'kysely';
import type { Scope } from '../../../contract/scope.ts';
import type { AccountSettings } from '../../platform/account.ts';
import type { DefaultJsonColumn, Instant } from '../../platform/database/schema.ts';

export interface AccountTables {
  account: AccountTable;
  api_key: ApiKeyTable;
}

interface AccountTable {
  id: string;
  name: string;
  dialect: Generated<'interface' | 'published'>;
  settings: DefaultJsonColumn<AccountSettings>;
  created_at: Instant;
}

interface ApiKeyTable {
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
}

declare module '../../platform/database/schema.ts' {
  interface Database extends AccountTables {}
}
