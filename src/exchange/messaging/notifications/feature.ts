import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { createStartGuard } from '../../platform/recovery/start-guard.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { createFollowUps, type FollowUps } from './follow-up/follow-ups.ts';
import { acceptedMessages } from './held-messages.ts';
import { addInboundNotificationRoutes } from './inbound-routes.ts';
import { createRecordings, type Recordings } from './recording/recordings.ts';
import { messageRematching } from './rematch/rematching.ts';
import { addNotificationLinkRoute, addNotificationRoutes } from './routes.ts';

/**
 * Notifications that hospitals, pharmacies and labs send (ADT, fills, results),
 * what they add to records, and the follow-up of discharges.
 */
export const notificationsFeature = {
  open(
    { store, blobs, temporal, logger, idHmacKey }: Platform,
    { records }: { records: RecordKeeper },
  ): OpenFeature<{ followUps: FollowUps; recordings: Recordings }> {
    const followUps = createFollowUps({ store, temporal, logger });
    const startGuard = createStartGuard(store);
    const recordings = createRecordings({
      store,
      blobs,
      records,
      startGuard,
      idHmacKey,
      logger,
    });
    const rematching = messageRematching({
      store,
      blobs,
      followUps,
      recordings,
      idHmacKey,
    });
    const accepted = acceptedMessages({
      store,
      blobs,
      followUps,
      recordings,
      idHmacKey,
    });
    return {
      services: { followUps, recordings },
      recoveries: [
        followUps.recovery,
        rematching,
        accepted,
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
