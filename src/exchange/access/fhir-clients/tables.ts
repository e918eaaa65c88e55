import type { JSONWebKeySet } from 'jose';
import type { Generated } from 'kysely';
import type { Instant, NullableJsonColumn } from '../../platform/database/schema.ts';

export interface FhirClientTables {
  fhir_client: FhirClientTable;
  fhir_client_assertion: { client_id: string; account_id: string; jti_hash: Buffer; expires_at: Date };
}

interface FhirClientTable {
  id: string;
  account_id: string;
  label: string | null;
  jwks: NullableJsonColumn<JSONWebKeySet>;
  jwks_url: string | null;
  scopes: string[];
  is_network: Generated<boolean>;
  created_at: Instant;
  revoked_at: Date | null;
}

declare module '../../platform/database/schema.ts' {
  interface Database extends FhirClientTables {}
}
