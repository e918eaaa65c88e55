import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import {
  callGateway,
  type StackAccount,
  type TestStack,
} from '../../test/support/stack.ts';
import type { SentQuery } from './stages.ts';
import type { Webhooks } from './webhooks.ts';

const CREATE_EVERY_MS = 100;
const QUERY_EVERY_MS = 500;

/**
 * A caller that creates patients and queries the lab about the sample patients,
 * each at a fixed pace.
 */
export async function createCaller(
  stack: TestStack,
  account: StackAccount,
  webhooks: Webhooks,
) {
  let created = 0;
  const create = async (body: object): Promise<string> => {
    const answer = await callGateway(
      stack.connection,
      account,
      'POST',
      `patient?facilityId=${account.facilityId}`,
      { body, timeoutMs: 60_000 },
    );
    if (answer.status >= 300) throw new Error(`E4: ${answer.status}`);
    return answer.body.id ?? answer.body.patient.id;
  };
  const samples: string[] = [];
  for (const { createBody } of loadSamplePatients())
    samples.push(await create(createBody));
  let queried = 0;
  const query = async (sent: SentQuery[]): Promise<number> => {
    const patientId = samples[queried++ % samples.length];
    const began = performance.now();
    const sentAt = Date.now();
    const answer = await callGateway(
      stack.connection,
      account,
      'POST',
      `network/query?patientId=${patientId}`,
      { body: { sources: { lab: { enabled: true } } }, timeoutMs: 60_000 },
    );
    if (answer.status >= 300) throw new Error(`E2: ${answer.status}`);
    sent.push({ requestId: answer.body.requestId, sentAt });
    return (await webhooks.arrivalOf(answer.body.requestId)) - began;
  };

  return {
    /**
     * Calls until `work` has ended, and then until everything that was called
     * has been answered.
     */
    async during(
      work: () => Promise<unknown>,
    ): Promise<{ createMs: number[]; queryMs: number[]; sent: SentQuery[] }> {
      const createMs: number[] = [];
      const queryMs: number[] = [];
      const failures: unknown[] = [];
      const sent: SentQuery[] = [];
      const underWay: Promise<unknown>[] = [];
      const every = (
        ms: number,
        call: () => Promise<number>,
        times: number[],
      ) =>
        setInterval(() => {
          const one = call().then((took) => times.push(took));
          underWay.push(one.catch((error: unknown) => failures.push(error)));
        }, ms);
      const timers = [
        every(
          CREATE_EVERY_MS,
          async () => {
            const began = performance.now();
            await create(person(++created));
            return performance.now() - began;
          },
          createMs,
        ),
        every(QUERY_EVERY_MS, () => query(sent), queryMs),
      ];
      try {
        await work();
      } finally {
        for (const timer of timers) clearInterval(timer);
        await Promise.all(underWay);
      }
      if (failures.length > 0)
        throw new AggregateError(failures, `${failures.length} calls failed`);
      return { createMs, queryMs, sent };
    },
  };
}

const letters = (value: number): string =>
  [...String(value)].map((digit) => 'abcdefghij'[Number(digit)]).join('');

const person = (number: number) => ({
  firstName: 'Nora',
  lastName: `Newman${letters(number)}`,
  dob: '1980-04-01',
  genderAtBirth: 'F',
  address: [
    {
      addressLine1: `${number} Elm Street`,
      city: 'Reno',
      state: 'NV',
      zip: '89501',
      country: 'USA',
    },
  ],
});
