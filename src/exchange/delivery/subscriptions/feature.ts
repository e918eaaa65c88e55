import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { itemRecovery } from '../../platform/recovery/recovery.ts';
import { createChangeAnnouncer, overdueChanges } from './change-announcer.ts';
import { addSubscriptionRoutes } from './routes.ts';
import { dueHeartbeats, sendHeartbeat } from './subscription-store.ts';

/**
 * FHIR Subscriptions of R4 by the Subscriptions R5 Backport guide
 * (docs/subscriptions.md).
 */
export const subscriptionsFeature = {
  open(platform: Pick<Platform, 'store' | 'logger'>): OpenFeature {
    const { store } = platform;
    const changes = createChangeAnnouncer(platform);
    store.onChangesCommitted(changes.announce);
    return {
      recoveries: [
        itemRecovery({
          name: 'heartbeats of subscriptions',
          find: (limit) => store.asSystem((tx) => dueHeartbeats(tx, limit)),
          heal: ({ accountId, id }) =>
            store.asAccount(accountId, (tx) => sendHeartbeat(tx, id)),
        }),
        itemRecovery({
          name: 'changes of records that subscriptions are told of',
          find: (limit) => store.asSystem((tx) => overdueChanges(tx, limit)),
          heal: async ({ accountId }) => {
            await changes.announceAll(accountId);
            return true;
          },
        }),
      ],
      drain: () => changes.drain(),
    };
  },
  routes: (
    { authenticated }: GatewayScopes,
    deps: DepsOf<typeof addSubscriptionRoutes>,
  ) => authenticated((scope) => addSubscriptionRoutes(scope, deps)),
} satisfies Feature;
