import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { createStartGuard } from '../../platform/recovery/start-guard.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { attachmentsToRead } from './attachments.ts';
import { createMessageLauncher, type MessageLauncher } from './launcher.ts';
import { addMessageCallbackRoute, addMessageRoutes } from './routes.ts';

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
} satisfies Feature;
