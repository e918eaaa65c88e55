import type { JWK } from 'jose';
import type { Generated } from 'kysely';
import type { SourceType } from '../../../contract/primitives.ts';
import type { JsonColumn } from '../../platform/database/schema.ts';
import type { AssertionAlgorithm } from '../connectors/http/auth/token-request.ts';
import type { ConnectionSettings } from '../connectors/source-settings.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    network_connection: {
      id: string;
      account_id: string;
      source: SourceType;
      name: string;
      base_url: string;
      settings: JsonColumn<ConnectionSettings>;
      auth_kind: string;
      /** `ConnectionCredentials`, encrypted with the key ring. */
      credentials: Buffer;
      namespace: string;
      enabled: Generated<boolean>;
      revision: Generated<number>;
      created_at: Instant;
      changed_at: Instant;
    };
    network_gateway: {
      id: string;
      account_id: string;
      connection_id: string;
      home_community: string;
      name: string;
      discovery_url: string;
      query_url: string;
      retrieve_url: string;
      namespace: string;
    };
    source_signing_key: {
      kid: string;
      algorithm: AssertionAlgorithm;
      public_jwk: JsonColumn<JWK>;
      /**
       * A JWK, encrypted with the key ring; null once the key is no longer
       * published.
       */
      private_key: Buffer | null;
      created_at: Instant;
      signs_from: Date;
      published_until: Date | null;
    };
    source_token: {
      name: string;
      sealed: Buffer | null;
      renew_at: Date | null;
      ends_at: Date | null;
      requested_until: Date | null;
      missing_scopes: string[] | null;
    };
  }
}
