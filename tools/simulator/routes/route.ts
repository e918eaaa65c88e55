import type { Operation } from '../../../src/local-stack/simulator/protocol.ts';
import type { SimulatedResponse } from '../response.ts';
import type { SourceCall } from '../source.ts';

/**
 * One route of a source; the pipeline adds access check, rate limit, faults and
 * log.
 */
export interface Route {
  method: 'GET' | 'POST' | 'DELETE';
  /** Path below the base address of the source. */
  path: string;
  operation: Operation;
  /** Served without an access token. */
  open?: (call: SourceCall) => boolean;
  /** Key of the sample patient that the request is about, if it names one. */
  sample?: (call: SourceCall) => string | undefined;
  answer: (call: SourceCall) => SimulatedResponse | Promise<SimulatedResponse>;
}

/** A part of the path, such as `id` of `/Patient/:id`. */
export function pathPart(call: SourceCall, name: string): string {
  const params = call.request.params as Record<string, string | undefined>;
  return params[name] ?? '';
}

/**
 * `_count` as a number; undefined when it is absent or not a positive number.
 */
export function requestedCount(call: SourceCall): number | undefined {
  const count = Number(call.params.get('_count'));
  return Number.isInteger(count) && count > 0 ? count : undefined;
}

/** The id in `patient=Patient/1`, `patient=1` or an absolute reference. */
export function patientParam(call: SourceCall): string | undefined {
  const value = call.params.get('patient') ?? call.params.get('subject');
  return value?.split('/').at(-1);
}
