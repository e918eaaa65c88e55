import type { JSONWebKeySet } from 'jose';
import type { Generated } from 'kysely';
import type { NullableJsonColumn } from '../../platform/database/schema.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    fhir_client: {
      id: string;
      account_id: string;
      label: string | null;
      jwks: NullableJsonColumn<JSONWebKeySet>;
      jwks_url: string | null;
      scopes: string[];
      is_network: Generated<boolean>;
      created_at: Instant;
      revoked_at: Date | null;
    };
    fhir_client_assertion: {
      client_id: string;
      account_id: string;
      jti_hash: Buffer;
      expires_at: Date;
    };
  }
}
