import { setTimeout as sleep } from 'node:timers/promises';
import { patientDemographicsSchema } from '../../src/contract/patients.ts';
import type { GrowthEnvironment } from './environment.ts';

export interface Operation {
  name: string;
  /** Makes one call; the number is never used twice. */
  run(number: number): Promise<unknown>;
}

interface Created {
  patient: { id: string };
}

/** What a caller and the background do, each as one call. */
export function operationsOf(
  environment: GrowthEnvironment,
  cohortId: string,
): Operation[] {
  const { call, account, exchange, askSource } = environment;
  let requestId = '';
  let patientId = '';
  const create = async (number: number): Promise<string> => {
    const answer = (await call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      person(number),
    )) as Created & { id?: string };
    return answer.patient?.id ?? answer.id ?? '';
  };
  const startQuery = async (of: string): Promise<string> => {
    const answer = await call('POST', `network/query?patientId=${of}`, {
      sources: { lab: { enabled: true } },
    });
    return (answer as { requestId: string }).requestId;
  };
  return [
    {
      name: 'E4, a new patient',
      run: async (number) => (patientId = await create(number)),
    },
    {
      name: 'E4, the same patient again',
      run: (number) => create(number - (number % 7)),
    },
    {
      name: 'a query: E2, the source’s step, the event',
      run: async () => {
        requestId = await startQuery(patientId);
        await askSource(requestId, 'lab');
      },
    },
    { name: 'E3', run: () => call('GET', `network/query/${requestId}`) },
    {
      name: 'E9, first page of 100',
      run: () => call('GET', `cohort/${cohortId}/patient?count=100`),
    },
    {
      name: 'monitoring, 100 patients: E9, and the queries of each',
      run: async () => {
        const page = (await call(
          'GET',
          `cohort/${cohortId}/patient?count=100`,
        )) as {
          patients: { id: string }[];
        };
        for (const { id } of page.patients)
          await call(
            'GET',
            `network/query?patientId=${id}&source=hie&count=20`,
          );
      },
    },
    {
      name: 'a page of all patients, and their number',
      run: () => call('GET', 'patient?count=50'),
    },
    {
      name: 'a page of all queries, and their number',
      run: () => call('GET', 'network/query?count=50'),
    },
    {
      name: 'a search for a patient by name',
      run: (number) =>
        call('GET', `patient?filters=Newman${letters(number % 40)}`),
    },
    {
      name: 'deleting a patient',
      run: async (number) => call('DELETE', `patient/${await create(number)}`),
    },
    { name: 'the gateway’s metrics', run: () => call('GET', '/metrics') },
    ...exchange.recoveries.map((recovery) => ({
      name: `reconcile, ${recovery.name}`,
      run: async () => {
        const signal = AbortSignal.timeout(60_000);
        const recheckBefore = new Date(Date.now() - 900_000);
        for (
          let cursor: string | undefined,
            isBehind: boolean | undefined = true,
            round = 0;
          isBehind && round < 3;
          round++
        )
          ({ cursor, isBehind } = await recovery.takeUp({
            limit: 500,
            signal,
            recheckBefore,
            cursor,
          }));
        await sleep(0);
      },
    })),
  ];
}

const letters = (value: number): string =>
  [...String(value)].map((digit) => 'abcdefghij'[Number(digit)]).join('');

const person = (number: number) =>
  patientDemographicsSchema.parse({
    externalId: `new-${number}`,
    firstName: 'Nora',
    lastName: `Newman${letters(number)}`,
    dob: `19${50 + (number % 40)}-0${1 + (number % 9)}-${10 + (number % 18)}`,
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
    contact: [{ phone: String(3_000_000_000 + number) }],
  });
