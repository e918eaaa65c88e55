import type { SourceType } from '../../contract/primitives.ts';
import type { FaultRuleInput } from '../../simulator/faults/rules.ts';
import type { RequestLogEntry } from '../../simulator/request-log.ts';

/** Something that goes wrong at a source in the demo, and how its request log shows that it was handled. */
export interface Incident {
  /** Key of the sample patient. */
  sample: string;
  source: SourceType;
  /** For people: what happens and what should come of it. */
  title: string;
  rule: FaultRuleInput;
  /** How the source must end. */
  outcome: 'completed' | 'failed';
  attempts: number;
  /** What the log of this source and patient must show; undefined when it does, else what is missing. */
  proof(log: readonly RequestLogEntry[]): string | undefined;
}

/** Sample patients in the order in which they are shown. */
export const PATIENTS = [
  'keith-kiehn',
  'tamica-murazik',
  'adan-fuentes',
  'isaiah-weber',
  'dannie-bogisich',
] as const;

export const INCIDENTS: readonly Incident[] = [
  {
    sample: 'keith-kiehn',
    source: 'pharmacy',
    title: 'fails twice with 503, then answers',
    rule: onlyFor('keith-kiehn', 'pharmacy', {
      operation: 'everything',
      times: 2,
      fault: { type: 'status', status: 503 },
    }),
    outcome: 'completed',
    attempts: 1,
    proof(log) {
      const statuses = log.filter(({ operation }) => operation === 'everything').map(({ status }) => status);
      return isSame(statuses, [503, 503, 200])
        ? undefined
        : `503, 503, 200 expected, got ${statuses.join(', ') || 'nothing'}`;
    },
  },
  {
    sample: 'tamica-murazik',
    source: 'lab',
    title: 'answers 429 with Retry-After 3 s, is asked again in time',
    rule: onlyFor('tamica-murazik', 'lab', {
      operation: 'match',
      times: 1,
      fault: { type: 'rate-limit', retryAfterSeconds: 3 },
    }),
    outcome: 'completed',
    attempts: 1,
    proof(log) {
      const limited = log.find(({ status }) => status === 429);
      const next = log.find(
        ({ seq, operation }) => limited !== undefined && operation === 'match' && seq > limited.seq,
      );
      if (limited === undefined) return 'a 429 expected, got none';
      if (next === undefined) return 'asked again after the 429 expected, but it was not';
      const waitedMs = Date.parse(next.at) - Date.parse(limited.at);
      return waitedMs >= 3_000 ? undefined : `3000 ms of patience expected, got ${waitedMs}`;
    },
  },
  {
    sample: 'adan-fuentes',
    source: 'pharmacy',
    title: 'does not know the patient',
    rule: onlyFor('adan-fuentes', 'pharmacy', { operation: 'match', fault: { type: 'unknown-patient' } }),
    outcome: 'completed',
    attempts: 1,
    proof(log) {
      if (!log.some(({ fault }) => fault === 'unknown-patient'))
        return 'a match without result expected, got none';
      const asked = log.filter(({ operation }) => operation !== 'match' && operation !== 'token');
      return asked.length === 0 ? undefined : `no further request expected, got ${asked.length}`;
    },
  },
  {
    sample: 'isaiah-weber',
    source: 'lab',
    title: 'refuses with 403: the query ends partial',
    rule: onlyFor('isaiah-weber', 'lab', { operation: 'match', fault: { type: 'status', status: 403 } }),
    outcome: 'failed',
    attempts: 1,
    proof(log) {
      const refused = log.filter(({ status }) => status === 403).length;
      const served = log.filter(({ status, operation }) => status === 200 && operation === 'search').length;
      return refused === 1 && served === 0
        ? undefined
        : `one 403 and no data expected, got ${refused} and ${served}`;
    },
  },
  {
    sample: 'dannie-bogisich',
    source: 'hie',
    title: 'takes the request and then fails it: a second attempt brings the data',
    rule: onlyFor('dannie-bogisich', 'hie', { operation: 'job', times: 1, fault: { type: 'job-fails' } }),
    outcome: 'completed',
    attempts: 2,
    proof(log) {
      const kickOffs = log.filter(
        ({ operation, status }) => operation === 'everything' && status === 202,
      ).length;
      const failed = log.filter(({ operation, status }) => operation === 'job' && status >= 400).length;
      return kickOffs === 2 && failed === 1
        ? undefined
        : `two requests and one failed job expected, got ${kickOffs} and ${failed}`;
    },
  },
  {
    sample: 'keith-kiehn',
    source: 'hie',
    title: 'calls back twice: collected once',
    rule: onlyFor('keith-kiehn', 'hie', { operation: 'callback', fault: { type: 'doubled-callback' } }),
    outcome: 'completed',
    attempts: 1,
    proof(log) {
      const callbacks = log.filter(({ operation }) => operation === 'callback').length;
      const kickOffs = log.filter(({ operation }) => operation === 'everything').length;
      return callbacks === 2 && kickOffs === 1
        ? undefined
        : `two callbacks and one request expected, got ${callbacks} and ${kickOffs}`;
    },
  },
];

function onlyFor(
  sample: string,
  source: SourceType,
  rule: Omit<FaultRuleInput, 'sample' | 'source'>,
): FaultRuleInput {
  return { ...rule, sample, source };
}

const isSame = (left: readonly number[], right: readonly number[]): boolean =>
  left.length === right.length && left.every((value, index) => value === right[index]);

/** How the source of a patient must end in the demo. */
export function expectedEnd(
  sample: string,
  source: SourceType,
): { outcome: 'completed' | 'failed'; attempts: number } {
  const incidents = INCIDENTS.filter((incident) => incident.sample === sample && incident.source === source);
  return {
    outcome: incidents.some(({ outcome }) => outcome === 'failed') ? 'failed' : 'completed',
    attempts: Math.max(1, ...incidents.map(({ attempts }) => attempts)),
  };
}
