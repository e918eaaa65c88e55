import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { createStartGuard } from '../../platform/recovery/start-guard.ts';
import { documentsToRead } from '../../records/documents-to-read.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { mailboxSchedules } from './direct/reading-schedule.ts';
import { bundleSchedules } from './direct/trust-bundles/refresh-schedule.ts';
import type { MessageLauncher } from './launcher.ts';
import { addMessageRoutes } from './routes.ts';

/**
 * The C-CDA documents attached to messages become part of their patients'
 * records.
 */
export const ATTACHMENTS = {
  name: 'attachments of messages',
  source: 'message',
  since: 'sent_at',
} as const;

/** Messages between providers: E12, sending, and the mailboxes of accounts. */
export const messagesFeature = {
  open: ({
    store,
    records,
    temporal,
    messages,
  }: Pick<Platform, 'store' | 'temporal'> & {
    records: RecordKeeper;
    messages: MessageLauncher;
  }): OpenFeature => ({
    recoveries: [
      messages.recovery,
      mailboxSchedules({ store, temporal }),
      bundleSchedules({ store, temporal }),
      documentsToRead(
        { store, records, startGuard: createStartGuard(store) },
        ATTACHMENTS,
      ),
    ],
    drain: messages.drain,
  }),
  routes({ operations }: GatewayScopes, deps: DepsOf<typeof addMessageRoutes>) {
    addMessageRoutes(operations, deps);
  },
} satisfies Feature;
