import type { Generated } from 'kysely';
import type { Address } from '../patients/rules/demographics.ts';
import type { Instant, Json } from '../platform/database/columns.ts';

export interface FacilityTables {
  facility: FacilityTable;
}

interface FacilityTable {
  id: string;
  account_id: string;
  oid: string;
  name: string;
  npi: string;
  tin: string | null;
  active: Generated<boolean>;
  address: Json<Address>;
  version: Generated<number>;
  created_at: Instant;
}
