import { seededRandom } from '../../test/support/seeded-random.ts';

/** What a simulated gateway does when it is asked for a patient. */
export const KINDS = [
  /** Does not know the patient. */
  'nobody',
  /** Has the patient, with a document. */
  'holder',
  /** Answers after 10 to 30 s. */
  'slow',
  /** Never answers. */
  'hanging',
  /** Answers with a fault; every second one with HTTP 503, and well a minute later. */
  'failing',
  /** Acknowledges, and answers 5 to 30 s later to our address. */
  'deferred',
] as const;
export type Kind = (typeof KINDS)[number];

/** Of 100 gateways; the others do not know the patient. */
const SHARES: Partial<Record<Kind, number>> = {
  holder: 3,
  slow: 10,
  hanging: 5,
  failing: 5,
  deferred: 2,
};

/**
 * What each of so many gateways does. One in ten of the slow ones and of those
 * that answer later has the patient, too.
 */
export function kindsOf(gateways: number, seed = 1): Kind[] {
  const kinds: Kind[] = KINDS.flatMap((kind) =>
    new Array<Kind>(Math.round(((SHARES[kind] ?? 0) * gateways) / 100)).fill(
      kind,
    ),
  );
  const rest = new Array<Kind>(gateways - kinds.length).fill('nobody');
  return seededRandom(seed).shuffle([...kinds, ...rest]);
}

/** Whether a gateway of the kind has the patient, by its number. */
export const hasPatient = (kind: Kind, number: number): boolean =>
  kind === 'holder' ||
  ((kind === 'slow' || kind === 'deferred') && number % 10 === 0);

/** Whether a failing gateway is away at first, instead of refusing. */
export const isAwayAtFirst = (number: number): boolean => number % 2 === 0;

/** How a gateway is to end in the query's counts. */
export function expectedState(kind: Kind, number: number): string {
  if (hasPatient(kind, number)) return 'found';
  if (kind === 'hanging') return 'failed';
  if (kind === 'failing' && !isAwayAtFirst(number)) return 'failed';
  return 'nobody';
}

/** How often it is asked for one patient, by a worker that lives. */
export const expectedAsks = (kind: Kind, number: number): number =>
  kind === 'failing' && isAwayAtFirst(number) ? 2 : 1;

/** The address of a gateway: each has one of its own on this machine. */
export const hostOf = (number: number): string =>
  `127.7.${Math.floor(number / 200)}.${(number % 200) + 1}`;

export const communityOf = (number: number): string => `2.999.7.${number}`;
