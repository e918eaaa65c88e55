import type { OperationOutcome, OperationOutcomeIssue } from 'fhir/r4.js';
import type { ErrorStatus } from '../../../contract/errors.ts';
import type { ErrorResponse } from './errors.ts';

/** The code of an issue for each HTTP status (FHIR's IssueType). */
const CODES: Readonly<
  Partial<Record<ErrorStatus, OperationOutcomeIssue['code']>>
> = {
  '400': 'invalid',
  '401': 'login',
  '403': 'forbidden',
  '404': 'not-found',
  '405': 'not-supported',
  '406': 'not-supported',
  '408': 'timeout',
  '409': 'conflict',
  '410': 'deleted',
  '412': 'conflict',
  '413': 'too-long',
  '415': 'not-supported',
  '422': 'processing',
  '429': 'throttled',
  '503': 'transient',
};

export const FHIR_JSON_ERROR = 'application/fhir+json; charset=utf-8';

/** Whether errors of this URL are sent as OperationOutcome. */
export const isFhirUrl = (url: string): boolean => /^\/fhir(\/|$|\?)/.test(url);

/**
 * An error as FHIR expresses it, with the same texts as the problem details of
 * the other interface.
 */
export function operationOutcomeOf({
  status,
  body,
}: ErrorResponse): OperationOutcome {
  const code = CODES[status] ?? 'exception';
  const issue = (
    diagnostics: string,
    expression?: string,
  ): OperationOutcomeIssue => ({
    severity: 'error',
    code,
    diagnostics,
    ...(expression === undefined || expression === ''
      ? {}
      : { expression: [expression] }),
  });
  const issues = (body.errors ?? []).map(({ path, message }) =>
    issue(path === '' ? message : `${path}: ${message}`, path),
  );
  const whole = issue(`${body.detail} (${body.instance})`);
  return {
    resourceType: 'OperationOutcome',
    issue: issues.length === 0 ? [whole] : issues,
  };
}

/** The path of the FHIR API on this service. */
export const FHIR_PATH = '/fhir/R4';
/**
 * The path of the agents' door (Model Context Protocol), for the same tokens.
 */
export const AGENT_PATH = '/mcp';
export const isAgentUrl = (url: string): boolean =>
  /^\/mcp\/?(?:$|\?)/.test(url);
/**
 * RFC 9728: where the agents' door says which authorization server issues its
 * tokens.
 */
export const AGENT_METADATA_PATH = `/.well-known/oauth-protected-resource${AGENT_PATH}`;
/** The path of the same API for networks: contributed data only. */
export const RESPONDER_PATH = '/fhir/responder';
