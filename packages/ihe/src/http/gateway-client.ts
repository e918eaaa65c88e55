import { constants } from 'node:crypto';
import { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import { isSameId } from '../identifiers.ts';
import { IheError } from '../ihe-error.ts';
import type { Credentials } from '../security/credentials.ts';
import type { SamlStatement, SamlStyle } from '../security/write-assertion.ts';
import { writeSecurity } from '../security/write-security.ts';
import type { AttachmentStore } from '../soap/attachments.ts';
import { attachmentsInMemory } from '../soap/attachments.ts';
import {
  type Envelope,
  type MessageLimits,
  readEnvelope,
} from '../soap/read-envelope.ts';
import {
  ANONYMOUS,
  newMessageId,
  writeEnvelope,
} from '../soap/write-envelope.ts';
import {
  mtomMessage,
  type OutgoingAttachment,
  type OutgoingMessage,
  plainMessage,
} from '../soap/write-message.ts';
import type { XmlFragment } from '../xml/write-xml.ts';
import { transportFailure } from './transport-failure.ts';

/** How a gateway is spoken to. */
export interface GatewayOptions {
  /** For mutual TLS, and for what is signed. */
  credentials?: Credentials;
  /** Certificates of authorities, as PEM; left out, the public ones. */
  trusted?: readonly string[];
  /** Insecure renegotiation and short keys, for the few that have no better. */
  legacyTls?: boolean;
  /** Signs with SHA-1, for the few that know no other. */
  sha1?: boolean;
  style?: SamlStyle;
  connectTimeoutMs?: number;
}

/** One request of a transaction. */
export interface GatewayRequest<Stored> {
  /** The gateway's endpoint for this transaction. */
  address: string;
  action: string;
  body: XmlFragment;
  /** Sent as MTOM, which ITI-39 and 41 ask for, with or without documents. */
  mtom?: readonly OutgoingAttachment[];
  /** Who asks; left out, the request has no WS-Security. */
  statement?: SamlStatement;
  /** Headers besides those of addressing and security. */
  headers?: readonly XmlFragment[];
  /** Where the answer shall go; left out, it comes on the same connection. */
  replyTo?: string;
  /** Of an answer that is sent later: the message that it answers, as written. */
  relatesTo?: string;
  /** For the whole exchange, the documents' bytes included. */
  timeoutMs: number;
  signal?: AbortSignal;
  limits?: Partial<MessageLimits>;
  /** Where documents go; left out, into memory. */
  store?: AttachmentStore<Stored>;
}

/** What a gateway answered. */
export type GatewayAnswer<Stored> =
  | { kind: 'answer'; messageId: string; envelope: Envelope<Stored> }
  /** HTTP 202: the answer will come to `replyTo`. */
  | { kind: 'accepted'; messageId: string };

/** Speaks to one gateway, over connections that it keeps. */
export class GatewayClient {
  readonly #options: GatewayOptions;
  readonly #agent: Agent;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#agent = new Agent({
      connect: {
        ...tlsOptions(options),
        timeout: options.connectTimeoutMs ?? 10_000,
      },
      // A request has a time limit of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Ends all connections. */
  close(): Promise<void> {
    return this.#agent.close();
  }

  /**
   * Sends a request once, with a MessageID and a signature of its own: to try
   * again, call it again.
   *
   * @throws {IheError} whose code says what failed; a SOAP fault is one too
   */
  async send<Stored = Buffer>(
    request: GatewayRequest<Stored>,
  ): Promise<GatewayAnswer<Stored>> {
    refuseExpired(this.#options.credentials);
    const messageId = newMessageId();
    const response = await this.#post(request, this.#write(request, messageId));
    const { statusCode: status, body } = response;
    if (status === 202 && request.replyTo !== undefined) {
      await body.dump();
      return { kind: 'accepted', messageId };
    }

    const envelope = await readAnswer(response, request);
    const { relatesTo } = envelope;
    if (relatesTo !== undefined && !isSameId(relatesTo, messageId))
      throw new IheError(
        'unrelated',
        'The answer is to another message.',
        status,
      );
    return { kind: 'answer', messageId, envelope };
  }

  #write(
    {
      address,
      action,
      body,
      mtom,
      statement,
      headers = [],
      replyTo,
      relatesTo,
    }: GatewayRequest<unknown>,
    messageId: string,
  ): OutgoingMessage {
    const envelope = writeEnvelope({
      action,
      messageId,
      to: address,
      replyTo: replyTo ?? ANONYMOUS,
      relatesTo,
      headers:
        statement === undefined ? headers : [this.#sign(statement), ...headers],
      body,
    });
    return mtom === undefined
      ? plainMessage(envelope, action)
      : mtomMessage(envelope, action, mtom);
  }

  #sign(statement: SamlStatement): XmlFragment {
    const { credentials, sha1, style } = this.#options;
    if (credentials === undefined)
      throw new IheError(
        'credentials',
        'Without a certificate, nothing can be signed.',
      );
    return writeSecurity(statement, { ...style, credentials, sha1 });
  }

  async #post(
    { address, timeoutMs, signal }: GatewayRequest<unknown>,
    { contentType, contentLength, body }: OutgoingMessage,
  ): Promise<Dispatcher.ResponseData> {
    const limit = AbortSignal.timeout(timeoutMs);
    try {
      return await this.#agent.request({
        ...targetOf(address),
        method: 'POST',
        headers: {
          'content-type': contentType,
          // Not every gateway takes a request in chunks.
          ...(contentLength && { 'content-length': String(contentLength) }),
          accept: 'application/soap+xml, multipart/related',
        },
        body: Readable.from(body, { objectMode: false }),
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw transportFailure(error, false);
    }
  }
}

function targetOf(address: string): { origin: string; path: string } {
  if (!URL.canParse(address))
    throw new IheError('connect', 'The address of the gateway is no URL.');
  const { origin, pathname, search } = new URL(address);
  return { origin, path: pathname + search };
}

function tlsOptions(options: GatewayOptions): object {
  const { credentials, trusted, legacyTls = false } = options;
  return {
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(trusted && { ca: [...trusted] }),
    ...(credentials && {
      cert: credentials.certificate.toString(),
      key: credentials.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    }),
    ...(legacyTls && {
      ciphers: 'DEFAULT@SECLEVEL=0',
      secureOptions:
        constants.SSL_OP_LEGACY_SERVER_CONNECT |
        constants.SSL_OP_ALLOW_UNSAFE_LEGACY_RENEGOTIATION,
    }),
  };
}

function refuseExpired(credentials: Credentials | undefined): void {
  if (credentials === undefined) return;
  const { validToDate } = credentials.certificate;
  if (validToDate.getTime() < Date.now())
    throw new IheError(
      'credentials',
      `Our certificate ended on ${validToDate.toISOString().slice(0, 10)}.`,
    );
}

async function readAnswer<Stored>(
  { statusCode: status, headers, body }: Dispatcher.ResponseData,
  { limits, store, signal }: GatewayRequest<Stored>,
): Promise<Envelope<Stored>> {
  const contentType = [headers['content-type'] ?? []].flat()[0];
  let envelope: Envelope<Stored>;
  try {
    envelope = await readEnvelope(chunksOf(body), contentType, {
      limits,
      store: store ?? (attachmentsInMemory as AttachmentStore<never>),
    });
  } catch (error) {
    body.destroy();
    signal?.throwIfAborted();
    throw status < 300 || isOfConnection(error) ? error : failedWith(status);
  }
  const { fault } = envelope;
  if (fault !== undefined)
    throw new IheError(
      `fault.${fault.kind}`,
      `The gateway answered with a SOAP fault: ${FAULTS[fault.kind]}.`,
      status,
    );
  if (status >= 300) throw failedWith(status);
  return envelope;
}

/** What a fault means for whoever operates the connection. */
const FAULTS = {
  mustUnderstand: 'it does not understand a header, most often WS-Security',
  action: 'this address does not know the action',
  saml: 'it refuses our assertion, our signature or our clock',
  version: 'it wants another version of SOAP',
  sender: 'it says that the request is wrong',
  receiver: 'it failed itself',
} as const;

const failedWith = (status: number): IheError =>
  new IheError('http', `The gateway answered with HTTP ${status}.`, status);

const isOfConnection = (error: unknown): boolean =>
  error instanceof IheError &&
  (error.code === 'cut' || error.code === 'timeout');

async function* chunksOf(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  for (;;) {
    let next: IteratorResult<Uint8Array>;
    try {
      next = await chunks.next();
    } catch (error) {
      throw transportFailure(error, true);
    }
    if (next.done === true) return;
    yield next.value;
  }
}
