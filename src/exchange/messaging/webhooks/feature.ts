import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import type { DestinationPing } from './ping.ts';
import { addSettingsRoutes, addWebhookRoutes } from './routes.ts';
import { addSentEventRoutes } from './sent-event-routes.ts';

/**
 * Webhook destinations: settings, further destinations, what was sent, and resending. Events
 * and their delivery are in `platform/outbox`.
 */
export const webhooksFeature = {
  open: ({
    webhookDispatcher,
    destinationPing,
  }: Pick<Platform, 'webhookDispatcher'> & {
    destinationPing: DestinationPing;
  }): OpenFeature => ({
    recoveries: [],
    drain: async () => {
      await Promise.all([destinationPing.drain(), webhookDispatcher.drain()]);
    },
  }),
  routes(
    { operations }: GatewayScopes,
    deps: DepsOf<typeof addSettingsRoutes> &
      DepsOf<typeof addWebhookRoutes> &
      DepsOf<typeof addSentEventRoutes>,
  ) {
    addSettingsRoutes(operations, deps);
    addWebhookRoutes(operations, deps);
    addSentEventRoutes(operations, deps);
  },
} satisfies Feature;
