import type { Store } from '../../platform/database/database.ts';
import {
  type Feature,
  NO_ROUTES,
  type OpenFeature,
} from '../../platform/feature.ts';
import { deleting, removalRecovery } from '../../platform/recovery/recovery.ts';
import {
  type DeferredQuestionService,
  deleteOldQuestions,
} from './deferred-questions.ts';
import { forgetEndedMessages } from './membership-store.ts';

/**
 * What gateways of networks ask of an account, on a port of its own
 * (docs/networks.md, "Answer"; `openRespondingGateway`).
 */
export const respondingGatewayFeature = {
  open: ({
    store,
    deferredQuestions,
  }: {
    store: Pick<Store, 'asSystem'>;
    deferredQuestions: Pick<DeferredQuestionService, 'recovery' | 'drain'>;
  }): OpenFeature => ({
    recoveries: [
      deferredQuestions.recovery,
      deleting(
        removalRecovery('ended messages of gateways', (limit) =>
          store.asSystem((tx) => forgetEndedMessages(tx, limit)),
        ),
      ),
      deleting(
        removalRecovery('old deferred patient discoveries', (limit) =>
          store.asSystem((tx) => deleteOldQuestions(tx, limit)),
        ),
      ),
    ],
    drain: deferredQuestions.drain,
  }),
  routes: NO_ROUTES,
} satisfies Feature;
