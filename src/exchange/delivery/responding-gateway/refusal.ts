import { type IheError, writeFault, type XmlFragment } from '#ihe';

const WSSE =
  'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd';
const WSU =
  'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd';
const WSA = 'http://www.w3.org/2005/08/addressing';

interface FaultCode {
  code: 'Sender' | 'Receiver' | 'MustUnderstand' | 'VersionMismatch';
  subcode?: { namespace: string; name: string };
}

const sender = (namespace: string, name: string): FaultCode => ({
  code: 'Sender',
  subcode: { namespace, name },
});

/**
 * Why a request is not answered, as SOAP 1.2, WS-Addressing and WS-Security
 * (SOAP Message Security 1.1, 12) name it.
 */
const FAULT_CODES = {
  unreadable: { code: 'Sender' },
  version: { code: 'VersionMismatch' },
  header: { code: 'MustUnderstand' },
  action: sender(WSA, 'ActionNotSupported'),
  addressing: sender(WSA, 'MessageAddressingHeaderRequired'),
  'reply-to': sender(WSA, 'InvalidAddressingHeader'),
  security: sender(WSSE, 'InvalidSecurity'),
  signature: sender(WSSE, 'FailedCheck'),
  algorithm: sender(WSSE, 'UnsupportedAlgorithm'),
  authentication: sender(WSSE, 'FailedAuthentication'),
  expired: sender(WSU, 'MessageExpired'),
  purpose: { code: 'Sender' },
  deferred: { code: 'Sender' },
  busy: { code: 'Receiver' },
  failed: { code: 'Receiver' },
} as const satisfies Record<string, FaultCode>;

export type RefusalReason = keyof typeof FAULT_CODES;

/**
 * A request that is answered with a SOAP fault. The message goes to the other
 * side: it quotes nothing of the request, and names no person.
 */
export class GatewayRefusal extends Error {
  override readonly name = 'GatewayRefusal';
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }

  /** The status of HTTP (SOAP 1.2 part 2, table 20). */
  get status(): number {
    if (this.reason === 'busy') return 503;
    return FAULT_CODES[this.reason].code === 'Sender' ? 400 : 500;
  }

  /** The outcome in the audit. */
  get outcome(): string {
    if (this.reason === 'failed') return '500';
    if (this.reason === 'busy') return '503';
    return SECURITY_REASONS.has(this.reason) ? '403' : '400';
  }

  fault(): XmlFragment {
    const { code, subcode }: FaultCode = FAULT_CODES[this.reason];
    return writeFault({
      code,
      ...(subcode && { subcode }),
      reason: this.message,
    });
  }
}

const SECURITY_REASONS: ReadonlySet<RefusalReason> = new Set([
  'security',
  'signature',
  'algorithm',
  'authentication',
  'expired',
  'purpose',
]);

/** What `packages/ihe` finds wrong with a request; its messages quote nothing. */
export function refusalOfFailure({ code, message }: IheError): GatewayRefusal {
  return new GatewayRefusal(REASONS[code] ?? 'unreadable', message);
}

const REASONS: Partial<Record<IheError['code'], RefusalReason>> = {
  'security.missing': 'security',
  'security.signature': 'signature',
  'security.algorithm': 'algorithm',
  'security.key': 'authentication',
  'security.time': 'expired',
  'security.replay': 'signature',
};
