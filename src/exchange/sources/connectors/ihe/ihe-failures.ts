import type { IheError, IheErrorMeaning, SoapFault } from '#ihe';
import type { SourceType } from '../../../../contract/primitives.ts';
import { SourceFailure, type SourceFailureKind } from '../connector.ts';

/*
 * What a gateway's failure means for a query. Texts of a gateway may name a
 * patient, so only codes appear in messages.
 */

/** Which failure follows from what IHE's error codes mean. */
const KINDS = {
  'again-later': 'transport',
  'ask-less': 'refused',
  'discover-again': 'job-failed',
  'our-fault': 'refused',
  'document-missing': 'bad-answer',
  failed: 'bad-answer',
} as const satisfies Record<IheErrorMeaning, SourceFailureKind>;

/** The failure that a gateway reports by its own error codes. */
export function failureOfCodes(
  source: SourceType,
  label: string,
  meaning: IheErrorMeaning,
  codes: readonly string[],
): SourceFailure {
  const shown = shownCodes(codes);
  const said = shown === '' ? 'a failure without a code' : shown;
  return new SourceFailure(
    KINDS[meaning],
    `${source} answered ${label} with ${said}`,
  );
}

/** Codes that are codes: anything else may be a text about a patient. */
export const shownCodes = (codes: readonly string[]): string =>
  [...new Set(codes)]
    .map((code) => code.split(/[:#]/).at(-1) ?? '')
    .filter((code) => /^[A-Za-z][A-Za-z0-9_]{2,60}$/.test(code))
    .slice(0, 3)
    .join(', ');

/** @param clockHint said where it may be why: how far its clock is off */
export function failureOfFault(
  source: SourceType,
  label: string,
  fault: SoapFault,
  clockHint: string,
): SourceFailure {
  const codes = shownCodes([...fault.subcodes, fault.code ?? '']);
  const answered = `${source} answered ${label} with the SOAP fault ${codes}`;
  switch (fault.kind) {
    case 'mustUnderstand':
      return new SourceFailure(
        'denied',
        `${answered}: it does not process our WS-Security header at this address`,
      );
    case 'action':
      return new SourceFailure(
        'denied',
        `${answered}: the address is not one for this transaction`,
      );
    case 'saml':
      return new SourceFailure(
        'denied',
        `${answered}: it refuses our assertion, signature or times${clockHint}`,
      );
    case 'version':
      return new SourceFailure('denied', `${answered}: it wants another SOAP`);
    case 'sender':
      return new SourceFailure('refused', `${answered}${clockHint}`);
    case 'receiver':
      return new SourceFailure('transport', answered);
  }
}

/** The failure for an answer that is no message that can be read. */
export function failureOfReading(
  source: SourceType,
  label: string,
  error: IheError,
): SourceFailure {
  const [kind, what] = UNREADABLE[error.code] ?? [
    'bad-answer',
    'a message that cannot be read',
  ];
  return new SourceFailure(kind, `${source} answered ${label} with ${what}`, {
    cause: error,
  });
}

const UNREADABLE: Readonly<
  Partial<Record<IheError['code'], readonly [SourceFailureKind, string]>>
> = {
  empty: ['bad-answer', 'nothing at all'],
  html: ['bad-answer', 'a web page'],
  wsdl: [
    'refused',
    'the description of a service: the address is not the one for messages',
  ],
  cut: ['transport', 'a message that ends too early'],
  'too-large': ['bad-answer', 'more than is read'],
  'xml.doctype': ['bad-answer', 'XML with a DOCTYPE, which is refused'],
};
