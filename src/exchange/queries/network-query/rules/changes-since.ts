import { createHash } from 'node:crypto';
import type { Demographics } from '../../../people/patients/rules/demographics.ts';

/** The newest complete collection of a patient's data from one connection. */
export interface LastCollection {
  basis: string;
  patientIds: readonly string[];
  /** When everything was last asked for, and when anything was. */
  fullAt: Date;
  askedAt: Date;
  /** By how much the source's own counts differ from ours, by type. */
  differences: Readonly<Record<string, number>>;
}

const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;
/** Queries overlap by this: clocks differ, and a server may list what it has stored only after a while. */
const OVERLAP_MS = 24 * HOUR_MS;
/** Raise it when the rules change by which answers become resources: everything is then asked for again. */
const RULES_VERSION = 1;

/** What decides which data a query asks for. When it changes, an earlier answer no longer stands for it. */
export function basisOf(person: Demographics, fingerprint: string): string {
  const { firstNames, lastNames, dob, gender, addresses, contacts, personalIdentifiers } = person;
  const identity = [firstNames, lastNames, dob, gender, addresses, contacts, personalIdentifiers];
  return createHash('sha256')
    .update(JSON.stringify([RULES_VERSION, fingerprint, identity]))
    .digest('hex');
}

/**
 * Since when a source is asked for changes; undefined when it is asked for everything: nothing was collected completely, the
 * last complete collection is not comparable, or everything is due again.
 */
export function changesSince(
  last: LastCollection | undefined,
  { basis, now, fullAfterDays }: { basis: string; now: Date; fullAfterDays: number },
): Date | undefined {
  if (last === undefined || last.basis !== basis) return undefined;
  const age = now.getTime() - last.fullAt.getTime();
  if (age < 0 || age >= fullAfterDays * DAY_MS || last.askedAt > now) return undefined;
  return new Date(last.askedAt.getTime() - OVERLAP_MS);
}
