import type { FhirResource, OperationOutcome, OperationOutcomeIssue } from 'fhir/r4.js';

export const FHIR_JSON = 'application/fhir+json; charset=utf-8';

/** The response of a handler, before faults are applied. */
export interface Answer {
  status: number;
  headers?: Record<string, string>;
  /** Default: FHIR JSON for an object. */
  contentType?: string;
  /** An object is sent as JSON. */
  body?: object | string | Buffer;
}

export type IssueCode = OperationOutcomeIssue['code'];

export function ok(resource: FhirResource): Answer {
  return { status: 200, body: resource };
}

/** An OperationOutcome with one error. `diagnostics` must not contain data of a patient. */
export function refusal(status: number, code: IssueCode, diagnostics: string): Answer {
  return { status, body: operationOutcome(code, diagnostics) };
}

export function operationOutcome(code: IssueCode, diagnostics: string): OperationOutcome {
  return { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code, diagnostics }] };
}
