import type { World } from './world.ts';

/** A request of an operation, without what the contract says of it already. */
export interface Sent {
  params?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number | boolean>>;
  headers?: Readonly<Record<string, string>>;
  /** The address ends with one. */
  slash?: true;
  /** Text goes as it is, anything else as JSON. */
  body?: unknown;
}

/** Makes what the request is about, and the request. */
export type Build = (world: World) => Sent | Promise<Sent>;

/** Another answer of success. */
export interface Answered {
  what: string;
  status: number;
  send: Build;
  /** Members that its body has. */
  has?: object;
}

/** A request that must be refused, and leave nothing. */
export interface Refused {
  what: string;
  status: number;
  send: (world: World, good: Sent) => Sent | Promise<Sent>;
  /**
   * Of the mistake, in `errors`; none where a request as a whole is refused.
   */
  path?: string;
  /** A part of the mistake's message, or of `detail`. */
  message: string;
}

/**
 * What an operation must answer beside what is generated for every one of its
 * kind (generated-cases.ts).
 */
export interface OperationCases {
  /** Answered with the first success status of the row. */
  good: Build;
  more?: readonly Answered[];
  refused?: readonly Refused[];
}

/** The good request with other members in its body. */
export const badBody = (
  change: object,
  path: string,
  message: string,
): Refused => ({
  what: `${path || 'body'} of ${shorten(change)}`,
  status: 400,
  send: (_world, good) => ({
    ...good,
    body: { ...(good.body as object | undefined), ...change },
  }),
  path,
  message,
});

/** The good request with other parameters; undefined takes one away. */
export const badQuery = (
  change: Record<string, string | number | undefined>,
  path: string,
  message: string,
): Refused => ({
  what: `?${shorten(change)}`,
  status: 400,
  send: (_world, good) => {
    const all = Object.entries({ ...good.query, ...change }).filter(
      ([, value]) => value !== undefined,
    );
    return {
      ...good,
      query: Object.fromEntries(all) as NonNullable<Sent['query']>,
    };
  },
  path,
  message,
});

/** What every list refuses (interface-decisions.md, Pagination). */
export const badPages = (countMax = 500): Refused[] => [
  badQuery({ count: 0 }, 'count', 'at least 1'),
  badQuery({ count: countMax + 1 }, 'count', `at most ${countMax}`),
  badQuery({ count: 'ten' }, 'count', 'whole number'),
  badQuery({ count: 1.5 }, 'count', 'whole number'),
  badQuery({ sort: 'colour=asc' }, 'sort', 'cannot sort by "colour"'),
  badQuery({ sort: 'id' }, 'sort', ''),
  badQuery({ fromItem: 'guess' }, 'fromItem', 'is not a cursor of this list'),
  badQuery({ toItem: 'gu.ess' }, 'toItem', 'is not a cursor of this list'),
  badQuery({ fromItem: 'a', toItem: 'b' }, 'toItem', 'cannot be used together'),
];

export const NO_ID = '01a00000-0000-7000-8000-000000000000';

const shorten = (value: unknown): string => {
  const text = JSON.stringify(value, (_key, part) =>
    part === undefined ? null : part,
  );
  return text.length > 70 ? `${text.slice(0, 69)}…` : text;
};
