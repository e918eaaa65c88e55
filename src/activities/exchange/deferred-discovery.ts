import { ApplicationFailure } from '@temporalio/activity';
import type { Credentials } from '#ihe';
import type { DeferredDiscoveryInput } from '../../contract/deferred-discovery-workflow.ts';
import type { DeferredQuestionService } from '../../exchange/delivery/responding-gateway/deferred-questions.ts';
import { withHeartbeat } from './heartbeat.ts';

export type DeferredDiscoveryActivities = ReturnType<
  typeof createDeferredDiscoveryActivities
>;

/** The steps that answer a gateway's patient discovery later. */
export const createDeferredDiscoveryActivities = ({
  deferredQuestions,
  gatewayCredentials,
}: {
  deferredQuestions: Pick<DeferredQuestionService, 'deliver' | 'fail'>;
  /** Our certificate and key as a gateway; undefined without IHE_TLS. */
  gatewayCredentials?: Credentials;
}) => ({
  deliverDiscoveryAnswer: (question: DeferredDiscoveryInput) =>
    withHeartbeat({ everyMs: 2_000 }, async (signal) => {
      if (gatewayCredentials === undefined)
        throw ApplicationFailure.create({
          message: 'IHE_TLS is not set in this worker: nothing can be signed',
          type: 'Configuration',
        });
      return deferredQuestions.deliver(question, gatewayCredentials, signal);
    }),
  failDiscoveryAnswer: deferredQuestions.fail,
});
