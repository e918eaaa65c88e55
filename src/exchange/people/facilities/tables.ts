import type { Generated } from 'kysely';
import type { JsonColumn } from '../../platform/database/schema.ts';
import type { Address } from '../patients/rules/demographics.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    facility: {
      id: string;
      account_id: string;
      oid: string;
      name: string;
      npi: string;
      tin: string | null;
      active: Generated<boolean>;
      address: JsonColumn<Address>;
      version: Generated<number>;
      created_at: Instant;
    };
  }
}
