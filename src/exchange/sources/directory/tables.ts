import type { Generated } from 'kysely';
import type { DefaultJsonColumn } from '../../platform/database/schema.ts';
import type { LoadCounts } from './load-counts.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    directory: {
      name: string;
      origin: string | null;
      /** An Authorization header, encrypted with the key ring. */
      secret: Buffer | null;
      refresh_hours: number | null;
      changed_at: Instant;
    };
    directory_load: {
      id: string;
      directory: string;
      origin: string;
      status: Generated<'running' | 'completed' | 'failed'>;
      counts: DefaultJsonColumn<Partial<LoadCounts>>;
      reason: string | null;
      started_at: Instant;
      ended_at: Date | null;
    };
    directory_remark: {
      load_id: string;
      place: number;
      entry_id: string | null;
      remark: string;
    };
    directory_entry: {
      directory: string;
      id: string;
      load_id: string;
      content: Buffer;
      name: string | null;
      active: boolean;
      parent_id: string | null;
      managed_by: string | null;
      home_community: string | null;
      npi: string | null;
      kinds: string[];
      networks: string[];
      purposes: string[];
      city: string | null;
      state: string | null;
      zip: string | null;
      latitude: number | null;
      longitude: number | null;
      position_from: 'location' | 'zip' | null;
      discovery_url: string | null;
      query_url: string | null;
      retrieve_url: string | null;
      fhir_url: string | null;
      endpoint_ids: string[];
      location_ids: string[];
      gateway_id: string | null;
      fhir_gateway_id: Generated<string | null>;
      removed_at: Date | null;
    };
    directory_part: {
      directory: string;
      id: string;
      load_id: string;
      entry_id: string | null;
      transaction: 'discovery' | 'query' | 'retrieve' | 'fhir' | null;
      address: string | null;
      latitude: number | null;
      longitude: number | null;
    };
  }
}
