import { createFollowUpActivities } from '../../activities/exchange/discharge-follow-up.ts';
import { TASK_QUEUES } from '../../contract/temporal.ts';
import type { NetworkQueryService } from '../network-query/service.ts';
import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../platform/feature.ts';
import type { Platform } from '../platform/platform.ts';
import type { WorkerPlatform } from '../platform/worker-platform.ts';
import { createFollowUps, type FollowUps } from './follow-up/follow-ups.ts';
import { createFollowUpRounds } from './follow-up/rounds.ts';
import { addInboundNotificationRoutes } from './inbound-routes.ts';
import { messageRematching } from './rematch/rematching.ts';
import { addNotificationLinkRoute, addNotificationRoutes } from './routes.ts';

/** Notifications that hospitals, pharmacies and labs send (ADT, fills, results), and the follow-up of discharges. */
export const notificationsFeature = {
  open({ store, blobs, temporal, logger, idHmacKey }: Platform): OpenFeature<{ followUps: FollowUps }> {
    const followUps = createFollowUps({ store, temporal, logger });
    const recoveries = [followUps.recovery, ...messageRematching({ store, blobs, followUps, idHmacKey })];
    return { services: { followUps }, recoveries, drain: followUps.drain };
  },
  routes(
    { operations, open }: GatewayScopes,
    deps: DepsOf<typeof addNotificationRoutes> &
      DepsOf<typeof addNotificationLinkRoute> &
      DepsOf<typeof addInboundNotificationRoutes>,
  ) {
    addNotificationRoutes(operations, deps);
    open((scope) => addNotificationLinkRoute(scope, deps));
    open((scope) => addInboundNotificationRoutes(scope, deps));
  },
  activities: ({ store, networkQueries }: WorkerPlatform & { networkQueries: NetworkQueryService }) => ({
    [TASK_QUEUES.exchange]: createFollowUpActivities({
      rounds: createFollowUpRounds({ store, networkQueries }),
    }),
  }),
} satisfies Feature;
