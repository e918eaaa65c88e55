import { SOAP, SOAP_1_1 } from '../namespaces.ts';
import {
  childrenNamed,
  firstNamed,
  isNamed,
  type XmlElement,
  xmlText,
} from '../xml/xml-element.ts';

/** What a fault means for whoever sent the request. */
export type SoapFaultKind =
  /** A header was not understood: most often the receiver has no WS-Security. */
  | 'mustUnderstand'
  /** The action is not one of this address. */
  | 'action'
  /** The assertion, a signature or the times were refused. */
  | 'saml'
  /** The version of SOAP. */
  | 'version'
  /** Something else in the request. */
  | 'sender'
  /** The receiver failed. */
  | 'receiver';

/**
 * A SOAP fault. Its reason stays out of JSON, logs and `util.inspect`, because
 * it may name a patient.
 */
export class SoapFault {
  readonly kind: SoapFaultKind;
  /** The code without its prefix: `Sender`, `MustUnderstand`, … */
  readonly code: string | undefined;
  readonly subcodes: readonly string[];
  readonly #reason: string | undefined;

  constructor(
    code: string | undefined,
    subcodes: readonly string[],
    reason: string | undefined,
  ) {
    this.code = code;
    this.subcodes = subcodes;
    this.kind = kindOf(code, subcodes);
    this.#reason = reason;
  }

  /** The sender's words, which may name a patient: not to be shown or logged. */
  confidentialReason(): string | undefined {
    return this.#reason;
  }
}

/** Reads the first element of a body, if it is a fault of SOAP 1.2 or 1.1. */
export function readSoapFault(
  payload: XmlElement | undefined,
): SoapFault | undefined {
  if (payload === undefined) return undefined;
  if (isNamed(payload, SOAP, 'Fault')) return readFault(payload);
  return isNamed(payload, SOAP_1_1, 'Fault') ? readFault11(payload) : undefined;
}

function readFault(fault: XmlElement): SoapFault {
  const code = firstNamed(fault, SOAP, 'Code');
  const subcodes: string[] = [];
  let inner = firstNamed(code, SOAP, 'Subcode');
  while (inner !== undefined) {
    const subcode = codeIn(firstNamed(inner, SOAP, 'Value'));
    if (subcode !== undefined) subcodes.push(subcode);
    inner = firstNamed(inner, SOAP, 'Subcode');
  }
  const [reason] = childrenNamed(
    firstNamed(fault, SOAP, 'Reason'),
    SOAP,
    'Text',
  );
  return new SoapFault(
    codeIn(firstNamed(code, SOAP, 'Value')),
    subcodes,
    xmlText(reason),
  );
}

function readFault11(fault: XmlElement): SoapFault {
  const codes = codeIn(firstNamed(fault, '', 'faultcode'))?.split('.') ?? [];
  const [code, ...subcodes] = codes;
  return new SoapFault(
    code,
    subcodes,
    xmlText(firstNamed(fault, '', 'faultstring')),
  );
}

/** A QName without its prefix, which may be none or resolve to nothing. */
const codeIn = (value: XmlElement | undefined): string | undefined =>
  xmlText(value)?.replace(/^.*:/s, '');

/** Codes by what they mean; unlisted ones are judged by the first code. */
const KINDS: Readonly<Record<string, SoapFaultKind>> = {
  MustUnderstand: 'mustUnderstand',
  VersionMismatch: 'version',
  // WS-Addressing.
  ActionNotSupported: 'action',
  ActionMismatch: 'action',
  // WS-Security.
  UnsupportedSecurityToken: 'saml',
  UnsupportedAlgorithm: 'saml',
  InvalidSecurity: 'saml',
  InvalidSecurityToken: 'saml',
  FailedAuthentication: 'saml',
  FailedCheck: 'saml',
  SecurityTokenUnavailable: 'saml',
  MessageExpired: 'saml',
  // WSS4J.
  SecurityError: 'saml',
  // The first code alone.
  Sender: 'sender',
  Client: 'sender',
  DataEncodingUnknown: 'sender',
};

function kindOf(
  code: string | undefined,
  subcodes: readonly string[],
): SoapFaultKind {
  for (const each of [...subcodes, code ?? '']) {
    const kind = Object.hasOwn(KINDS, each) ? KINDS[each] : undefined;
    if (kind !== undefined) return kind;
  }
  return 'receiver';
}
