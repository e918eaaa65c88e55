import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import type { FollowUps } from './follow-up/follow-ups.ts';
import { acceptedMessages } from './held-messages.ts';
import { addInboundNotificationRoutes } from './inbound-routes.ts';
import type { Recordings } from './recording/recordings.ts';
import { messageRematching } from './rematch/rematching.ts';
import { addNotificationLinkRoute, addNotificationRoutes } from './routes.ts';

/**
 * Notifications that hospitals, pharmacies and labs send (ADT, fills, results),
 * what they add to records, and the follow-up of discharges.
 */
export const notificationsFeature = {
  open(
    deps: Pick<Platform, 'store' | 'blobs' | 'idHmacKey'> & {
      followUps: FollowUps;
      recordings: Recordings;
    },
  ): OpenFeature {
    const { followUps, recordings } = deps;
    return {
      recoveries: [
        followUps.recovery,
        messageRematching(deps),
        acceptedMessages(deps),
        recordings.recovery,
      ],
      drain: async () =>
        void (await Promise.all([followUps.drain(), recordings.drain()])),
    };
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
} satisfies Feature;
