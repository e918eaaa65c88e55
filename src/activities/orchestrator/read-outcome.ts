import { log } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ExchangeAccess } from '../../contract/patient-onboarding.ts';
import type { EndpointActivities } from './endpoints.ts';

export interface OutcomeInput {
  exchange: ExchangeAccess;
  patientId: string;
  /** The queries to read. */
  requestIds: string[];
}

/** What the exchange answers, without what it refuses. */
export interface Outcome {
  queries: Awaited<ReturnType<EndpointActivities['getNetworkQuery']>>[];
  documents?: Awaited<ReturnType<EndpointActivities['listDocuments']>>;
}

export type OutcomeActivities = ReturnType<typeof createOutcomeActivities>;

export function createOutcomeActivities({
  getNetworkQuery,
  listDocuments,
}: Pick<EndpointActivities, 'getNetworkQuery' | 'listDocuments'>) {
  return {
    /**
     * Reads what the summary of an onboarding needs beside the webhooks: the
     * number of attempts, and the patient's documents, which not every exchange
     * lists. Throws what may pass, to be repeated.
     */
    async readOutcome({
      exchange,
      patientId,
      requestIds,
    }: OutcomeInput): Promise<Outcome> {
      const queries = await Promise.all(
        requestIds.map((requestId) =>
          unlessRefused(getNetworkQuery({ exchange, params: { requestId } })),
        ),
      );
      const documents = await unlessRefused(
        listDocuments({ exchange, query: { patientId, output: 'dto' } }),
      );
      return {
        queries: queries.filter((query) => query !== undefined),
        documents,
      };
    },
  };
}

async function unlessRefused<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ApplicationFailure) || error.nonRetryable !== true)
      throw error;
    log.warn('A part of the outcome could not be read', { kind: error.type });
    return undefined;
  }
}
