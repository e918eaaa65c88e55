import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import type { Endpoint } from '../../../src/contract/endpoint.ts';
import {
  type EndpointName,
  endpoints,
} from '../../../src/contract/endpoints.ts';
import { TEST_BASE_URL } from '../../support/gateway.ts';
import { queryOfGateways } from './cases/network-queries.ts';
import { notification } from './cases/notifications.ts';
import { possibleDuplicate } from './cases/possible-duplicates.ts';
import type { Sent } from './operation-cases.ts';
import { send } from './requests.ts';
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
  [1, 2, 3].reduce(
    async (made, _) => [...(await made), await make()],
    Promise.resolve<T[]>([]),
  );

/** Every operation that is paged. */
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
      return {
        query: {
          patientId,
          source: 'lab',
          startedAfter: '2020-01-01T00:00:00+01:00',
        },
      };
    },
  },
  {
    name: 'listNetworkQueryGateways',
    items: 'gateways',
    sort: 'place=desc',
    withThree: async (world) => ({
      params: { requestId: await queryOfGateways(world, 3) },
      query: { state: 'nobody' },
    }),
  },
  {
    name: 'listMessages',
    items: 'messages',
    sort: 'sentAt=asc',
    withThree: async ({ make }) => {
      const patientId = await make.patient();
      const note = {
        destination: 'dr+a@direct.example.org',
        subject: 'Referral',
        body: 'Please see.',
      };
      await three(() =>
        make.call('POST', `message?patientId=${patientId}`, note),
      );
      return {
        query: {
          patientId,
          destination: note.destination,
          direction: 'outbound',
        },
      };
    },
  },
  {
    name: 'listNotifications',
    items: 'notifications',
    sort: 'notifiedAt=asc,id=desc',
    withThree: async (world) => {
      const patientId = await world.make.patient();
      await three(() => notification(world, undefined, patientId));
      return { query: { patientId, type: 'patient.discharge' } };
    },
  },
  {
    name: 'listPossibleDuplicates',
    items: 'possibleDuplicates',
    sort: 'foundAt=asc,id=desc',
    withThree: async (world) => {
      const patientId = await world.make.patient();
      await three(() => possibleDuplicate(world, patientId));
      return { query: { patientId, status: 'open' } };
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
  {
    name: 'listEvents',
    items: 'events',
    sort: 'occurredAt=asc',
    // What a destination has gone through is the account's, so another one's.
    withThree: async ({ other }) => {
      await other.call('POST', 'settings', {
        webhookUrl: 'https://hooks.example.org/medical',
      });
      await three(() => other.call('POST', 'settings/webhook/test', {}));
      return {
        query: { type: 'webhook.test' },
        headers: { 'x-api-key': other.apiKey },
      };
    },
  },
];

/** Links are made anew with each answer. */
const withoutLinks = (answer: { body: string }) =>
  JSON.parse(answer.body, (key, value) => (key === 'url' ? undefined : value));

/** Paging, as every list must do it (interface-decisions.md, Pagination). */
export function describeLists(world: () => World): void {
  describe('a list', () => {
    test('is every operation that takes a count', () => {
      const paged = (Object.keys(endpoints) as EndpointName[]).filter(
        (name) => {
          const { query }: Endpoint = endpoints[name];
          return (
            'fromItem' in ((query as z.ZodObject | undefined)?.shape ?? {})
          );
        },
      );
      expect(LISTS.map(({ name }) => name).sort()).toEqual(paged.sort());
    });

    test.each(LISTS)(
      '$name is paged to its end and back by addresses that keep its filters',
      async (list) => {
        const { name, items, sort } = list;
        const sent = await list.withThree(world());
        const get = async (query: Sent['query']) =>
          withoutLinks(
            await send(world(), name, {
              ...sent,
              query: { ...sent.query, ...query },
            }),
          );
        const follow = async (address: string) => {
          const url = new URL(address);
          expect(url.origin).toBe(TEST_BASE_URL);
          const kept = Object.fromEntries(url.searchParams);
          expect(kept).toMatchObject({ ...sent.query, count: '1', sort });
          const headers = {
            'x-api-key': world().account.apiKey,
            ...sent.headers,
          };
          return withoutLinks(
            await world().app.inject({
              url: `${url.pathname}${url.search}`,
              headers,
            }),
          );
        };
        const all = (await get({ sort }))[items];
        expect((await get({ count: 2 })).meta).toMatchObject({
          itemsOnPage: 2,
          itemsInTotal: 3,
        });
        const first = await get({ count: 1, sort });
        const second = await follow(first.meta.nextPage);
        const third = await follow(second.meta.nextPage);
        expect([first, second, third].flatMap((page) => page[items])).toEqual(
          all,
        );
        expect([first.meta.prevPage, third.meta.nextPage]).toEqual([
          undefined,
          undefined,
        ]);
        expect((await follow(third.meta.prevPage))[items]).toEqual(
          second[items],
        );
        expect((await follow(second.meta.prevPage))[items]).toEqual(
          first[items],
        );
        const cursor =
          new URL(first.meta.nextPage).searchParams.get('fromItem') ?? '';
        const inOtherSort = await get({ fromItem: cursor });
        expect([inOtherSort.status, inOtherSort.errors[0].path]).toEqual([
          400,
          'fromItem',
        ]);
      },
    );
  });
}
