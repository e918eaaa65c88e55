import type { ColumnType, Generated } from 'kysely';

export type EventState =
  | 'pending'
  | 'delivering'
  | 'delivered'
  | 'dead'
  | 'unrouted';

declare module '../database/schema.ts' {
  interface Database {
    webhook_destination: {
      id: string;
      account_id: string;
      /** The destination of the settings, which gets all events. */
      of_settings: Generated<boolean>;
      /**
       * Of a FHIR Subscription, which has the same id (delivery/subscriptions).
       * Its key is none: it holds headers.
       */
      is_subscription: Generated<boolean>;
      url: string | null;
      /** Event types and prefixes that it gets; null: all events. */
      types: string[] | null;
      /** Encrypted signing key (`WebhookKeys`); kept when the URL changes. */
      key: string | null;
      previous_key: string | null;
      /** Until then, the previous key also signs. */
      previous_key_until: Date | null;
      health: Generated<'healthy' | 'failing' | 'disabled' | 'unknown'>;
      health_at: Date | null;
      /**
       * Different events that failed one after the other, then the probes that
       * failed; a success sets it to 0.
       */
      failures: Generated<number>;
      failed_event: string | null;
      /**
       * Set while the destination is held; the next probe is sent at
       * `held_until`.
       */
      held_since: Date | null;
      held_until: Date | null;
      /**
       * When the workflow `webhookDestination` looks at the events next; null:
       * it is not running.
       */
      looks_at: Date | null;
      created_at: Instant;
      updated_at: Instant;
    };
    /** A message to one destination. */
    event: {
      id: string;
      seq: Generated<string>;
      account_id: string;
      patient_id: string | null;
      destination_id: string | null;
      /** For a copy to a further destination: the id of the message. */
      copy_of: string | null;
      type: string;
      fact_key: string;
      request_id: string | null;
      /**
       * For a notification of a subscription: the number of its event, or of
       * the last one of `body.events`.
       */
      number: Generated<number | null>;
      /** Null for a copy, which uses the body of its message. */
      body: ColumnType<Record<string, unknown>, string | null, string | null>;
      occurred_at: Date;
      status: EventState;
      attempts: Generated<number>;
      last_attempt_at: Date | null;
      /** Not before this time; null: now. */
      next_attempt_at: Date | null;
      /**
       * When the event became due for the first time, or again by a request to
       * resend it.
       */
      opened_at: Instant;
      delivered_at: Date | null;
    };
    event_attempt: {
      event_id: string;
      attempt: number;
      account_id: string;
      at: Instant;
      http_status: number | null;
      outcome: string;
    };
  }
}
