import type { Generated } from 'kysely';
import type { JsonColumn } from '../../platform/database/schema.ts';
import type {
  Content,
  Filter,
  SubscriptionResource,
} from './rules/subscription-request.ts';

declare module '../../platform/database/schema.ts' {
  interface Database {
    /**
     * A FHIR Subscription; the webhook destination with the same id holds its
     * endpoint and headers, and how that fares.
     */
    fhir_subscription: {
      id: string;
      account_id: string;
      actor: string;
      scopes: string[] | null;
      topic: string;
      resource: JsonColumn<SubscriptionResource>;
      content: Content;
      filters: JsonColumn<Filter[]>;
      types: string[] | null;
      max_count: number;
      timeout_ms: number | null;
      heartbeat_seconds: number | null;
      heartbeat_at: Instant;
      ends_at: Date | null;
      events: Generated<number>;
      verified_at: Date | null;
      ended_because: string | null;
      version: Generated<number>;
      created_at: Instant;
      updated_at: Instant;
    };
  }
}
