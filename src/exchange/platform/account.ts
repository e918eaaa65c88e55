import type { SourceType } from '../../contract/primitives.ts';

export type Dialect = 'interface' | 'published';

/** An account with its dialect and settings. */
export interface Account {
  id: string;
  dialect: Dialect;
  settings: AccountSettings;
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
  /**
   * When scheduled monitoring may start: hours of the day in an IANA time zone;
   * default 1 to 5 in America/New_York.
   */
  monitoring?: { timeZone?: string; fromHour?: number; toHour?: number };
  /**
   * Direct addresses of the account, in lower case, for inbound messages; XDR
   * messages are addressed to facility OIDs.
   */
  messages?: { directAddresses?: string[] };
  /** Origins whose pages may embed the patient view; default none. */
  embed?: { frameAncestors?: string[] };
  /**
   * Security labels that are withheld from what leaves
   * (docs/sensitive-data.md); default none.
   */
  withhold?: string[];
}
