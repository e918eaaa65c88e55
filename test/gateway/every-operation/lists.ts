import type { EndpointName } from '../../../src/contract/endpoints.ts';
import { notification } from './cases/notifications.ts';
import type { Sent } from './operation-cases.ts';
import type { World } from './world.ts';

/** A list of the interface, with what makes one more item of it. */
export interface List {
  name: EndpointName;
  /** The member of its answer that has the items. */
  items: string;
  /** Another order than the default. */
  sort: string;
  /** Makes three items that the request then lists alone. */
  withThree(world: World): Promise<Sent>;
}

const three = <T>(make: () => Promise<T>): Promise<T[]> =>
  [1, 2, 3].reduce(async (made, _) => [...(await made), await make()], Promise.resolve<T[]>([]));

/** Every operation that is paged; `every-operation.test.ts` checks that none is missing. */
export const LISTS: readonly List[] = [
  {
    name: 'listPatients',
    items: 'patients',
    sort: 'id=asc',
    withThree: async ({ make }) => {
      await three(() => make.patient({ externalId: 'paged & sorted' }));
      return { query: { externalId: 'paged & sorted' } };
    },
  },
  {
    name: 'listCohortPatients',
    items: 'patients',
    sort: 'createdAt=desc,id=asc',
    withThree: async ({ make }) => {
      const id = await make.cohort();
      await three(() => make.patient({ cohorts: [id] }));
      return { params: { id } };
    },
  },
  {
    name: 'listNetworkQueries',
    items: 'queries',
    sort: 'requestId=asc',
    withThree: async ({ make }) => {
      const patientId = await make.patient();
      await three(() => make.query(patientId));
      return { query: { patientId, source: 'lab', startedAfter: '2020-01-01T00:00:00+01:00' } };
    },
  },
  {
    name: 'listMessages',
    items: 'messages',
    sort: 'sentAt=asc',
    withThree: async ({ make }) => {
      const patientId = await make.patient();
      const note = { destination: 'dr+a@direct.example.org', subject: 'Referral', body: 'Please see.' };
      await three(() => make.call('POST', `message?patientId=${patientId}`, note));
      return { query: { patientId, destination: note.destination, direction: 'outbound' } };
    },
  },
  {
    name: 'listNotifications',
    items: 'notifications',
    sort: 'toldAt=asc,id=desc',
    withThree: async (world) => {
      const patientId = await world.make.patient();
      await three(() => notification(world, undefined, patientId));
      return { query: { patientId, type: 'patient.discharge' } };
    },
  },
  {
    name: 'listBulkCreates',
    items: 'bulkCreates',
    sort: 'createdAt=asc',
    // It has no filter, so they are another account's.
    withThree: async ({ other }) => {
      await three(() => other.call('POST', 'patient/bulk'));
      return { headers: { 'x-api-key': other.apiKey } };
    },
  },
];
