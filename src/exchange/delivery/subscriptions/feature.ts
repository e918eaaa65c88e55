import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { itemRecovery } from '../../platform/recovery/recovery.ts';
import { addSubscriptionRoutes } from './routes.ts';
import { dueHeartbeats, sendHeartbeat } from './subscription-store.ts';

/**
 * FHIR Subscriptions of R4 by the Subscriptions R5 Backport guide
 * (docs/subscriptions.md).
 */
export const subscriptionsFeature = {
  open: ({ store }: Pick<Platform, 'store'>): OpenFeature => ({
    recoveries: [
      itemRecovery({
        name: 'heartbeats of subscriptions',
        find: (limit) => store.asSystem((tx) => dueHeartbeats(tx, limit)),
        heal: ({ accountId, id }) =>
          store.asAccount(accountId, (tx) => sendHeartbeat(tx, id)),
      }),
    ],
    drain: async () => undefined,
  }),
  routes: (
    { authenticated }: GatewayScopes,
    deps: DepsOf<typeof addSubscriptionRoutes>,
  ) => authenticated((scope) => addSubscriptionRoutes(scope, deps)),
} satisfies Feature;
