import type {
  Bundle,
  BundleEntry,
  FhirResource,
  OperationOutcome,
  OperationOutcomeIssue,
} from 'fhir/r4.js';

export const SIMULATED_FHIR_TYPE = 'application/fhir+json; charset=utf-8';

/** The response of a handler, before faults are applied. */
export interface SimulatedResponse {
  status: number;
  headers?: Record<string, string>;
  /** Default: FHIR JSON for an object. */
  contentType?: string;
  /** An object is sent as JSON. */
  body?: object | string | Buffer;
}

export type IssueCode = OperationOutcomeIssue['code'];

export const okResponse = (resource: FhirResource): SimulatedResponse => ({
  status: 200,
  body: resource,
});

/**
 * An OperationOutcome with one error. `diagnostics` must not contain data of a
 * patient.
 */
export const refusalResponse = (
  status: number,
  code: IssueCode,
  diagnostics: string,
): SimulatedResponse => ({
  status,
  body: operationOutcome(code, diagnostics),
});

export const operationOutcome = (
  code: IssueCode,
  diagnostics: string,
): OperationOutcome => ({
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'error', code, diagnostics }],
});

interface BundleLinks {
  total?: number;
  selfUrl?: string;
  nextUrl?: string;
}

export const searchsetBundle = (
  entry: BundleEntry[],
  { total, selfUrl, nextUrl }: BundleLinks = {},
): Bundle => ({
  resourceType: 'Bundle',
  type: 'searchset',
  total: total ?? entry.length,
  link: [
    ...(selfUrl ? [{ relation: 'self', url: selfUrl }] : []),
    ...(nextUrl ? [{ relation: 'next', url: nextUrl }] : []),
  ],
  entry,
});

/** Wraps the result of an asynchronous request in a batch-response Bundle. */
export const batchResponse = (resource: FhirResource): Bundle => ({
  resourceType: 'Bundle',
  type: 'batch-response',
  entry: [{ response: { status: '200 OK' }, resource }],
});
