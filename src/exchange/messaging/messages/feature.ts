import { createMessageActivities } from '../../../activities/exchange/messages.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { createStartGuard } from '../../platform/recovery/start-guard.ts';
import type { WorkerPlatform } from '../../worker-platform.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import type { SourceHealth } from '../../sources/health/source-health.ts';
import { createMessageLauncher, type MessageLauncher } from './launcher.ts';
import { attachmentsToRead } from './read-attachments.ts';
import { addMessageCallbackRoute, addMessageRoutes } from './routes.ts';
import { createTransmission } from './transmission.ts';

/** Messages between providers: E12, sending, and the transport partner's callbacks. */
export const messagesFeature = {
  open(
    platform: Platform,
    { records }: { records: RecordKeeper },
  ): OpenFeature<{ messages: MessageLauncher }> {
    const launcher = createMessageLauncher(platform);
    const startGuard = createStartGuard(platform.store);
    return {
      services: { messages: launcher },
      recoveries: [launcher.recovery, attachmentsToRead({ store: platform.store, records, startGuard })],
      drain: launcher.drain,
    };
  },
  routes(
    { operations, open }: GatewayScopes,
    deps: DepsOf<typeof addMessageRoutes> & DepsOf<typeof addMessageCallbackRoute>,
  ) {
    addMessageRoutes(operations, deps);
    open((scope) => addMessageCallbackRoute(scope, deps));
  },
  activities({
    store,
    blobs,
    messagePartner: partner,
    sourceHealth,
  }: WorkerPlatform & { sourceHealth: SourceHealth }) {
    const transmission = createTransmission({ store, blobs, partner, sourceHealth });
    const { failTransmission, ...calls } = createMessageActivities({ transmission });
    // Runs from before the queue `partners` have their calls on the queue `exchange`.
    return { [TASK_QUEUES.exchange]: { failTransmission, ...calls }, [TASK_QUEUES.partners]: calls };
  },
} satisfies Feature;
