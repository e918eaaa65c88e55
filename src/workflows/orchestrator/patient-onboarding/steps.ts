import { log, upsertSearchAttributes } from '@temporalio/workflow';
import type { PatientOnboardingInput } from '../../../contract/patient-onboarding.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { callFailure, essential } from '../../shared/call-failure.ts';
import type { ExchangeCalls } from './exchange-calls.ts';
import type { Onboarding } from './onboarding.ts';

export async function createPatient(onboarding: Onboarding, calls: ExchangeCalls): Promise<string> {
  const { patientId, created } = await essential(
    calls.createPatient,
    'patient-not-created',
    'The patient could not be created',
  );
  onboarding.patientCreated(patientId, created);
  return patientId;
}

export async function addToCohorts(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  { cohortIds = [] }: PatientOnboardingInput,
): Promise<void> {
  const patientId = onboarding.state.patient?.id;
  if (cohortIds.length === 0 || patientId === undefined) return onboarding.cohortsAssigned([]);
  const answer = await essential(
    () => calls.addToCohorts(patientId, cohortIds),
    'cohorts-not-assigned',
    'The patient was created, but could not be added to the cohorts',
  );
  onboarding.cohortsAssigned(answer.cohortIds.filter((id) => cohortIds.includes(id)));
}

export async function startFirstQuery(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  patientId: string,
): Promise<void> {
  const types = onboarding.state.sources.map(({ type }) => type);
  await essential(
    () => startQuery(onboarding, calls, patientId, types),
    'query-not-started',
    'The patient was created, but the network query could not be started',
  );
  upsertSearchAttributes([
    { key: searchAttribute.queryStatus, value: 'in-progress' },
    ...onboarding.state.requestIds.slice(0, 1).map((value) => ({ key: searchAttribute.requestId, value })),
  ]);
}

/** Starts a query. Throws only when no query was started; after an unknown outcome, waits for webhooks instead. */
async function startQuery(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  patientId: string,
  types: readonly SourceType[],
): Promise<void> {
  try {
    const { starts, identity } = onboarding.state;
    const answer = await calls.startQuery(patientId, types, starts + 1, identity);
    onboarding.queryStarted(types, answer, Date.now());
  } catch (error) {
    if (callFailure(error)?.kind !== 'ambiguous') throw error;
    onboarding.startUnknown(types, Date.now());
  }
}

/** Reads the status of each open query. A failure is only noted: the next poll makes up for it. */
export async function pollQueries(onboarding: Onboarding, calls: ExchangeCalls): Promise<void> {
  onboarding.state.problem = undefined;
  for (const requestId of onboarding.openRequestIds) {
    try {
      onboarding.polled(await calls.getQuery(requestId, 'No webhook yet: poll the query'));
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      if (failure.kind === 'not-found') onboarding.pollFoundNothing(requestId);
      onboarding.state.problem = failure.message;
    }
  }
  onboarding.pollsDone(Date.now());
}

/** Starts a further query for the rate-limited sources. Its failure does not affect the other sources. */
export async function restart(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  patientId: string,
  types: readonly SourceType[],
): Promise<void> {
  try {
    await startQuery(onboarding, calls, patientId, types);
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    if (failure.kind === 'unavailable' || failure.kind === 'rate-limited')
      onboarding.restartFailed(types, Date.now());
    else onboarding.restartRefused(types, failure.message);
  }
}

/** Reads how many attempts each source took, which webhooks do not contain. Logs a failure and continues without it. */
export async function countAttempts(onboarding: Onboarding, calls: ExchangeCalls): Promise<void> {
  for (const requestId of onboarding.unreadRequestIds) {
    try {
      onboarding.attemptsRead(await calls.getQuery(requestId, 'Read the number of attempts'));
    } catch (error) {
      const failure = callFailure(error);
      if (failure === undefined) throw error;
      log.warn('The number of attempts could not be read', { requestId, kind: failure.kind });
    }
  }
}

/** Lists the documents for the summary. Not every exchange can; logs a failure and continues without them. */
export async function listDocuments(
  onboarding: Onboarding,
  calls: ExchangeCalls,
  patientId: string,
): Promise<void> {
  try {
    onboarding.state.documents = await calls.listDocuments(patientId);
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    log.warn('The documents could not be listed', { kind: failure.kind });
  }
}

/** Cancels the queries that are still running at the exchange. They may have ended by now, so 404 and 409 are fine. */
export async function stopQueries(onboarding: Onboarding, calls: ExchangeCalls): Promise<void> {
  for (const requestId of onboarding.openRequestIds) {
    try {
      await calls.cancelQuery(requestId);
    } catch (error) {
      log.warn('A query could not be cancelled', { requestId, kind: callFailure(error)?.kind });
    }
  }
}
