import type { OperationOutcome } from 'fhir/r4.js';
import type { UnreadableMessageError } from '../inbound.ts';

export const FHIR_JSON = 'application/fhir+json; charset=utf-8';

/** The response to an accepted message. It does not reveal whether a patient matched. */
export const accepted = (): OperationOutcome => ({
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'information', code: 'informational', diagnostics: 'Accepted' }],
});

/** The response to a refused message: what is wrong, and where. */
export const refused = ({ kind, message, place }: UnreadableMessageError): OperationOutcome => ({
  resourceType: 'OperationOutcome',
  issue: [
    {
      severity: 'error',
      code: kind === 'unsupported' ? 'not-supported' : 'invalid',
      diagnostics: message,
      ...(place === undefined ? {} : { expression: [place] }),
    },
  ],
});
