import type { SourceType } from '../../src/contract/primitives.ts';
import type { FaultRuleInput } from '../../src/local-stack/simulator/faults.ts';
import type { RequestLogEntry } from '../simulator/request-log.ts';

/**
 * A fault that is injected at a source, and how the source's request log proves
 * that it was handled.
 */
export interface Incident {
  sample: (typeof PATIENTS)[number];
  source: SourceType;
  /** Printed: what the source does, and what should happen then. */
  title: string;
  rule: Omit<FaultRuleInput, 'sample' | 'source'>;
  /** How the source must end. */
  outcome: 'completed' | 'failed';
  attempts: number;
  /**
   * Checks the log of this source and patient. Returns undefined when the fault
   * was handled, else what differs.
   */
  proof(log: readonly RequestLogEntry[]): string | undefined;
}

/** Keys of the sample patients, in the order of the table. */
export const PATIENTS = [
  'keith-kiehn',
  'tamica-murazik',
  'adan-fuentes',
  'isaiah-weber',
  'dannie-bogisich',
] as const;

/** What goes wrong in the demo, in the order in which it is told. */
export const INCIDENTS: readonly Incident[] = [
  {
    sample: 'keith-kiehn',
    source: 'pharmacy',
    title: 'fails twice with 503, then answers',
    rule: {
      operation: 'everything',
      times: 2,
      fault: {
        type: 'status',
        status: 503,
      },
    },
    outcome: 'completed',
    attempts: 1,
    proof(log) {
      const statuses = log
        .filter(({ operation }) => operation === 'everything')
        .map(({ status }) => status);
      return statuses.join(', ') === '503, 503, 200'
        ? undefined
        : `expected 503, 503, 200; got ${statuses.join(', ') || 'no request'}`;
    },
  },
  {
    sample: 'tamica-murazik',
    source: 'lab',
    title:
      'answers 429 with Retry-After 3 s: the request is repeated after that time',
    rule: {
      operation: 'match',
      times: 1,
      fault: {
        type: 'rate-limit',
        retryAfterSeconds: 3,
      },
    },
    outcome: 'completed',
    attempts: 1,
    proof(log) {
      const limited = log.find(({ status }) => status === 429);
      const next = log.find(
        ({ seq, operation }) =>
          limited !== undefined && operation === 'match' && seq > limited.seq,
      );
      if (limited === undefined) return 'expected a 429 response, got none';
      if (next === undefined)
        return 'expected a further request after the 429, got none';
      const waitedMs = Date.parse(next.at) - Date.parse(limited.at);
      return waitedMs >= 3_000
        ? undefined
        : `expected a wait of at least 3000 ms, got ${waitedMs} ms`;
    },
  },
  {
    sample: 'adan-fuentes',
    source: 'pharmacy',
    title: 'does not know the patient',
    rule: {
      operation: 'match',
      fault: {
        type: 'unknown-patient',
      },
    },
    outcome: 'completed',
    attempts: 1,
    proof(log) {
      if (!log.some(({ fault }) => fault === 'unknown-patient'))
        return 'expected a match request without a result, got none';
      const further = log.filter(
        ({ operation }) => operation !== 'match' && operation !== 'token',
      );
      return further.length === 0
        ? undefined
        : `expected no further request, got ${further.length}`;
    },
  },
  {
    sample: 'isaiah-weber',
    source: 'lab',
    title: 'refuses this patient with 403 (no consent): the query ends partial',
    rule: {
      operation: 'match',
      fault: {
        type: 'status',
        status: 403,
        code: 'suppressed',
      },
    },
    outcome: 'failed',
    attempts: 1,
    proof(log) {
      const refused = log.filter(({ status }) => status === 403).length;
      const served = log.filter(
        ({ status, operation }) => status === 200 && operation === 'search',
      ).length;
      return refused === 1 && served === 0
        ? undefined
        : `expected one 403 and no data; got ${refused} with 403 and ${served} with data`;
    },
  },
  {
    sample: 'keith-kiehn',
    source: 'hie',
    title:
      'accepts the request and then fails: a second attempt returns the data',
    rule: {
      operation: 'job',
      times: 1,
      fault: {
        type: 'job-fails',
      },
    },
    outcome: 'completed',
    attempts: 2,
    proof(log) {
      const kickOffs = log.filter(
        ({ operation, status }) => operation === 'everything' && status === 202,
      ).length;
      const failed = log.filter(
        ({ operation, status }) => operation === 'job' && status >= 400,
      ).length;
      return kickOffs === 2 && failed === 1
        ? undefined
        : `expected two requests and one failed job; got ${kickOffs} and ${failed}`;
    },
  },
  {
    sample: 'dannie-bogisich',
    source: 'hie',
    title: 'calls back twice: the data is collected once',
    rule: {
      operation: 'callback',
      fault: {
        type: 'doubled-callback',
      },
    },
    outcome: 'completed',
    attempts: 1,
    proof(log) {
      const callbacks = log.filter(
        ({ operation }) => operation === 'callback',
      ).length;
      const kickOffs = log.filter(
        ({ operation }) => operation === 'everything',
      ).length;
      return callbacks === 2 && kickOffs === 1
        ? undefined
        : `expected two callbacks and one request; got ${callbacks} and ${kickOffs}`;
    },
  },
];

/** The expected outcome of one source for one patient. */
export function expectedEnd(
  sample: string,
  source: SourceType,
): { outcome: 'completed' | 'failed'; attempts: number } {
  const incidents = INCIDENTS.filter(
    (incident) => incident.sample === sample && incident.source === source,
  );
  return {
    outcome: incidents.some(({ outcome }) => outcome === 'failed')
      ? 'failed'
      : 'completed',
    attempts: Math.max(1, ...incidents.map(({ attempts }) => attempts)),
  };
}
