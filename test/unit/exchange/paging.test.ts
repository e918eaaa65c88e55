import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { pageQuery } from '../../../src/contract/paging.ts';
import { InvalidRequestError } from '../../../src/exchange/platform/errors.ts';
import { openPage } from '../../../src/exchange/platform/http/paging.ts';
import { property } from '../../support/property.ts';

const deps = {
  publicBaseUrl: 'https://exchange.test/base',
  linkSigningKey: 'key-of-the-test',
};
const order = { default: [{ column: 'id', direction: 'asc' as const }] };
const place = ['0198a000-0000-7000-8000-000000000000'];
const COHORT = '0198a000-0000-7000-8000-00000000000c';

const open = (
  query: { fromItem?: string; toItem?: string; sort?: string } = {},
  key = deps.linkSigningKey,
) =>
  openPage(
    { ...deps, linkSigningKey: key },
    'listCohortPatients',
    { params: { id: COHORT }, query: { count: 2, ...query } },
    order,
  );
const pageOf = (query = {}) =>
  open(query).meta({ items: [1, 2], total: 7, previous: place, next: place });
const parameter = (address: string | undefined, name: string) =>
  new URL(address ?? '').searchParams.get(name) ?? '';
const cursor = (query = {}) => parameter(pageOf(query).nextPage, 'fromItem');

describe('meta', () => {
  test('leads to the pages around on the public address, with count, sort and cursor', () => {
    const { nextPage, prevPage, ...counts } = pageOf({ sort: 'id=desc' });
    expect(counts).toEqual({ itemsOnPage: 2, itemsInTotal: 7 });
    for (const [address, name] of [
      [nextPage, 'fromItem'],
      [prevPage, 'toItem'],
    ] as const) {
      expect(address).toContain(
        `https://exchange.test/base/medical/v1/cohort/${COHORT}/patient?count=2&`,
      );
      expect(parameter(address, 'sort')).toBe('id=desc');
      expect(
        open({ [name]: parameter(address, name), sort: 'id=desc' }).request,
      ).toMatchObject({
        [name === 'fromItem' ? 'from' : 'to']: place,
      });
    }
  });

  test('says that a list has more items than were counted', () => {
    const more = open().meta({
      items: [1],
      total: 10_000,
      isTotalMinimum: true,
    });
    expect(more).toMatchObject({
      itemsInTotal: 10_000,
      itemsInTotalIsMinimum: true,
    });
  });

  test('names no page beyond the ends', () => {
    expect(open().meta({ items: [], total: 0 })).toEqual({
      itemsOnPage: 0,
      itemsInTotal: 0,
    });
  });

  test('keeps the filters', () => {
    const query = {
      count: 2,
      facilityId: 'f',
      active: true,
      externalId: undefined,
    };
    const { meta } = openPage(deps, 'listPatients', { query }, order);
    const { nextPage } = meta({ items: [], total: 0, next: place });
    expect(nextPage).toMatch(
      /\/medical\/v1\/patient\?count=2&facilityId=f&active=true&fromItem=/,
    );
  });
});

describe('a cursor', () => {
  test('holds for its sort, its list and its key only', () => {
    const own = cursor();
    expect(open({ fromItem: own, sort: 'id=asc' }).request.from).toEqual(place);
    const others = [
      () => open({ fromItem: own, sort: 'id=desc' }),
      () => open({ fromItem: own, sort: 'createdAt=asc' }),
      () =>
        openPage(
          deps,
          'listPatients',
          { query: { count: 2, fromItem: own } },
          order,
        ),
      () => open({ fromItem: own }, 'another key'),
    ];
    for (const other of others) expect(other).toThrow(InvalidRequestError);
  });

  test('holds for its filters and the list that its address names, whatever the count', () => {
    const filtered = (query: object, id = COHORT) =>
      openPage(
        deps,
        'listCohortPatients',
        { params: { id }, query: { count: 2, ...query } },
        order,
      );
    const [own = ''] = [filtered({ facilityId: 'f' })].map(({ meta }) =>
      parameter(
        meta({ items: [1], total: 2, next: place }).nextPage,
        'fromItem',
      ),
    );
    expect(
      filtered({
        facilityId: 'f',
        externalId: undefined,
        count: 5,
        fromItem: own,
      }).request.from,
    ).toEqual(place);
    for (const other of [
      () => filtered({ facilityId: 'g', fromItem: own }),
      () => filtered({ fromItem: own }),
      () =>
        filtered(
          { facilityId: 'f', fromItem: own },
          '0198a000-0000-7000-8000-00000000000d',
        ),
    ])
      expect(other).toThrow(/not a cursor of this list with these filters/);
  });

  test('of 0.1.0 still holds, and what is issued now has its place where 0.1.0 reads it', () => {
    const text = Buffer.from(JSON.stringify(place)).toString('base64url');
    const scope = 'page-cursor/listCohortPatients/id=asc/';
    const sign = (of: string) =>
      createHmac('sha256', deps.linkSigningKey)
        .update(scope)
        .update(of)
        .digest('base64url');
    expect(open({ fromItem: `${text}.${sign(text)}` }).request.from).toEqual(
      place,
    );
    const [own = '', signature] = cursor().split('.');
    expect(signature).toBe(sign(own));
    expect(JSON.parse(Buffer.from(own, 'base64url').toString())[0]).toBe(
      place[0],
    );
  });

  property([fc.nat(), fc.string({ minLength: 1, maxLength: 1 })])(
    'with any character changed is refused',
    (position, character) => {
      const own = cursor();
      const at = position % own.length;
      fc.pre(own[at] !== character);
      const changed = own.slice(0, at) + character + own.slice(at + 1);
      expect(() => open({ toItem: changed })).toThrow(
        /toItem: is not a cursor/,
      );
    },
  );

  property([fc.string()])('that nobody has made is refused', (made) => {
    expect(() => open({ fromItem: made })).toThrow(InvalidRequestError);
  });
});

describe('the query of a list', () => {
  const schema = pageQuery(
    ['id', 'createdAt'],
    { patientId: z.string().optional() },
    100,
  );

  test('has 50 items on a page by default', () => {
    expect(schema.parse({})).toEqual({ count: 50 });
    expect(
      schema.parse({
        count: '100',
        sort: 'id=asc,createdAt=desc',
        patientId: 'p',
      }),
    ).toEqual({
      count: 100,
      sort: 'id=asc,createdAt=desc',
      patientId: 'p',
    });
  });

  test.each([
    [{ count: '101' }, 'count must be at most 100'],
    [{ count: '0' }, 'count must be at least 1'],
    [{ count: '1.5' }, 'count must be a whole number'],
    [{ count: 'many' }, 'count must be a whole number'],
    [
      { fromItem: 'a', toItem: 'b' },
      'fromItem and toItem cannot be used together',
    ],
    [{ fromItem: '' }, 'is not a cursor of this list'],
    [{ sort: 'dob=asc' }, 'cannot sort by "dob"; use id, createdAt'],
    [{ sort: '' }, 'cannot sort by ""; use id, createdAt'],
    [{ sort: 'id' }, '"id" must have the form id=asc or id=desc'],
    [{ sort: 'id=down' }, '"id=down" must have the form id=asc or id=desc'],
    [
      { sort: 'id=asc=desc' },
      '"id=asc=desc" must have the form id=asc or id=desc',
    ],
    [{ sort: 'id=asc,id=desc' }, 'names id twice'],
  ])('%o: %s', (query, message) => {
    expect(
      schema.safeParse(query).error?.issues.map((issue) => issue.message),
    ).toEqual([message]);
  });
});
