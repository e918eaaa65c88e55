import type { OperationOutcome } from 'fhir/r4.js';
import type { UnreadableMessageError } from '../inbound.ts';

export const FHIR_JSON = 'application/fhir+json; charset=utf-8';

/** Taken: it is ours to see to. Says nothing of whom it was about, nor whether anybody here knows them. */
export const accepted = (): OperationOutcome => ({
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'information', code: 'informational', diagnostics: 'Accepted' }],
});

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
