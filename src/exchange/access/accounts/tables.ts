import type { Generated } from 'kysely';
import type { SourceType } from '../../../contract/primitives.ts';
import type { Scope } from '../../../contract/scope.ts';
import type { DefaultJsonColumn, Instant } from '../../platform/database/columns.ts';

export interface AccountTables {
  account: AccountTable;
  api_key: ApiKeyTable;
}

export interface AccountSettings {
  sources?: Partial<Record<SourceType, { enabled: boolean }>>;
  limits?: {
    requestsPerMinute?: number;
    networkQueriesPerMinute?: number;
    pharmacyRealtimePerDay?: number;
    consolidatedQueriesPerMinute?: number;
    messagesPerMinute?: number;
  };
  /** Sources of the queries that follow a bulk create; default hie. */
  bulk?: { sources?: SourceType[] };
  /** When scheduled monitoring may start: hours of the day in an IANA time zone; default 1 to 5 in America/New_York. */
  monitoring?: { timeZone?: string; fromHour?: number; toHour?: number };
  /** Direct addresses of the account, in lower case, for inbound messages; XDR messages are addressed to facility OIDs. */
  messages?: { directAddresses?: string[] };
  /** Origins whose pages may embed the patient view; default none. */
  embed?: { frameAncestors?: string[] };
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
