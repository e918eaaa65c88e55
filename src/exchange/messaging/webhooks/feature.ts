import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { createDestinationPing, type DestinationPing } from './ping.ts';
import { addSettingsRoutes, addWebhookRoutes } from './routes.ts';

/** Webhook destinations: settings, further destinations, and resending. Events and their delivery are in `platform/outbox`. */
export const webhooksFeature = {
  open({
    store,
    sender,
    logger,
    webhookDispatcher,
  }: Platform): OpenFeature<{ destinationPing: DestinationPing }> {
    const destinationPing = createDestinationPing({ store, sender, webhookDispatcher, logger });
    return {
      services: { destinationPing },
      recoveries: [],
      drain: async () => {
        await Promise.all([destinationPing.drain(), webhookDispatcher.drain()]);
      },
    };
  },
  routes(
    { operations }: GatewayScopes,
    deps: DepsOf<typeof addSettingsRoutes> & DepsOf<typeof addWebhookRoutes>,
  ) {
    addSettingsRoutes(operations, deps);
    addWebhookRoutes(operations, deps);
  },
} satisfies Feature;
