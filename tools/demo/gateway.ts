import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type {
  NetworkQueryStatus,
  TimelineEntry,
} from '../../src/contract/network-query.ts';
import type { StackConnection } from '../../src/local-stack/connection-file.ts';
import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import type { FaultRuleInput } from '../../src/local-stack/simulator/faults.ts';

/** The patient whose documents come by IHE, from a gateway that leaves some out. */
export const GATEWAY_PATIENT = 'lieselotte-howe';

/** Of each retrieval, the gateway hands out all documents but the last. */
export const GATEWAY_RULE: FaultRuleInput = {
  source: 'hie',
  sample: GATEWAY_PATIENT,
  operation: 'binary',
  fault: { type: 'gateway', trouble: 'partial' },
};

/** What a gateway gave of a patient, and what it failed to give. */
export interface GatewayResult {
  patient: string;
  status: NetworkQueryStatus['status'];
  documents: number;
  /** What it failed to give, in the words of the query's timeline. */
  gaps: string[];
}

const LOOK_EVERY_MS = 500;

/** Queries a patient of the account whose source is an IHE gateway. */
export async function queryGateway(
  { baseUrl, gatewayAccount }: StackConnection,
  signal: AbortSignal,
): Promise<GatewayResult> {
  const sample = loadSamplePatients().find(
    ({ key }) => key === GATEWAY_PATIENT,
  );
  if (sample === undefined)
    throw new Error(`There is no sample patient ${GATEWAY_PATIENT}`);
  if (gatewayAccount === undefined)
    throw new Error('The stack has no account behind a gateway');
  const call = async (path: string, body?: unknown): Promise<unknown> => {
    const answer = await request(`${baseUrl}/medical/v1/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        'x-api-key': gatewayAccount.apiKey,
        'content-type': 'application/json',
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return answer.body.json();
  };

  const patient = (await call(
    `patient?facilityId=${gatewayAccount.facilityId}`,
    sample.createBody,
  )) as { id: string };
  let query = (await call(`network/query?patientId=${patient.id}`, {
    sources: { hie: { enabled: true } },
  })) as NetworkQueryStatus;
  while (query.status === 'processing' || query.status === 'in-progress') {
    await sleep(LOOK_EVERY_MS, undefined, { signal });
    query = (await call(
      `network/query/${query.requestId}`,
    )) as NetworkQueryStatus;
  }
  const { documents } = (await call(`document?patientId=${patient.id}`)) as {
    documents: unknown[];
  };
  const { timeline } = (await call(
    `network/query/${query.requestId}/timeline`,
  )) as { timeline: TimelineEntry[] };
  return {
    patient: sample.fullName,
    status: query.status,
    documents: documents.length,
    gaps: timeline
      .filter(({ kind }) => kind === 'incomplete')
      .map(({ message }) => message),
  };
}

/**
 * What differs from what the gateway was made to do: of 11 documents, asked for
 * by five, it leaves one out of each retrieval.
 */
export function gatewayFaults({
  status,
  documents,
  gaps,
}: GatewayResult): string[] {
  return status === 'completed' && documents === 8 && gaps.length === 3
    ? []
    : [
        `gateway: expected a completed query with 8 documents and 3 gaps; got ${status}, ${documents} and ${gaps.length}`,
      ];
}
