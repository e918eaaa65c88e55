import { constants, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { pipeline } from 'node:stream/promises';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import {
  type Credentials,
  type Envelope,
  FAULT_ACTION,
  IheError,
  mtomMessage,
  newMessageId,
  type OutgoingMessage,
  plainMessage,
  readCredentials,
  readEnvelope,
  writeEnvelope,
} from '#ihe';
import { type Config, ConfigError } from '../../../config.ts';
import {
  MESSAGE_ATTACHMENT_BYTES_MAX,
  MESSAGE_ATTACHMENTS_MAX,
} from '../../../contract/messages.ts';
import type { Logger } from '../../../lib/logger.ts';
import { readTlsFolder, type TlsFiles } from '../../../lib/tls-folder.ts';
import type { Store } from '../../platform/database/database.ts';
import { ExchangeError } from '../../platform/errors.ts';
import { createRefusalAudit } from '../../platform/http/refusals.ts';
import { Permits } from '../../platform/limits/permits.ts';
import { answerGatewayRequest, operationOfRequest } from './answer-request.ts';
import { uuidOf } from './document-ids.ts';
import {
  findMembership,
  listMemberships,
  type StoredMembership,
} from './membership-store.ts';
import { PermittedBytes } from './permitted-bytes.ts';
import { GatewayRefusal, refusalOfFailure } from './refusal.ts';
import {
  type AnswerDeps,
  actorOf,
  type TransactionAnswer,
} from './transaction.ts';
import { isOfNetwork, networkCertificatesOf } from './trusted-members.ts';

export const RESPONDING_GATEWAY_VARIABLES = ['IHE_PORT', 'IHE_TLS'] as const;

type GatewayConfig = Config<
  (typeof RESPONDING_GATEWAY_VARIABLES)[number] | 'LISTEN_HOST'
>;

interface RespondingGatewayDeps extends AnswerDeps {
  store: Store;
  logger: Logger;
}

/** Of the XML; documents that are submitted are attachments (MTOM). */
const XML_BYTES_MAX = 1024 * 1024;
/** Attachments may be in base64, which is a third larger. */
const BODY_BYTES_MAX =
  Math.ceil(MESSAGE_ATTACHMENT_BYTES_MAX / 3) * 4 + 2 * XML_BYTES_MAX;
const MESSAGE_LIMITS = {
  bytes: BODY_BYTES_MAX,
  parts: MESSAGE_ATTACHMENTS_MAX + 2,
  xml: { bytes: XML_BYTES_MAX, nodes: 10_000, depth: 60 },
};
const LIMITS = {
  connections: 200,
  handshakeMs: 10_000,
  headersMs: 10_000,
  /** 20 MB come within it at 1.5 Mbit a second. */
  requestMs: 120_000,
  /** A peer that reads nothing of its answer for so long is cut off. */
  idleMs: 60_000,
};
/** Requests under way: of all, of an account, of one client certificate. */
const UNDER_WAY = { all: 40, account: 20, holder: 5 };
/** Those of them whose body is larger than a question: it is kept in memory. */
const LARGE_UNDER_WAY = { all: 4, account: 3, holder: 1 };
/** How soon a change of memberships is known to the port. */
const TRUST_READ_EVERY_MS = 10_000;

export type RespondingGateway = Awaited<
  ReturnType<typeof createRespondingGateway>
>;

/** Listens for gateways of networks if IHE_PORT is set. Throws ConfigError. */
export async function openRespondingGateway(
  config: GatewayConfig,
  deps: RespondingGatewayDeps,
): Promise<RespondingGateway | undefined> {
  if (config.IHE_PORT === undefined) return undefined;
  if (config.IHE_TLS === undefined)
    throw new ConfigError('IHE_PORT needs IHE_TLS: gateways speak mutual TLS');
  const gateway = await createRespondingGateway(
    await readTlsFolder(config.IHE_TLS, 'IHE_TLS'),
    deps,
  );
  gateway.server.listen(config.IHE_PORT, config.LISTEN_HOST);
  await once(gateway.server, 'listening');
  deps.logger.info(
    { address: gateway.server.address() },
    'listening for gateways of networks',
  );
  return gateway;
}

/**
 * Our certificate and key as a gateway, which sign deferred answers; undefined
 * without IHE_TLS. Throws ConfigError.
 */
export async function gatewayCredentials(
  config: Pick<GatewayConfig, 'IHE_TLS'>,
): Promise<Credentials | undefined> {
  if (config.IHE_TLS === undefined) return undefined;
  const { cert, key } = await readTlsFolder(config.IHE_TLS, 'IHE_TLS');
  try {
    return readCredentials({ certificate: cert, privateKey: key });
  } catch (error) {
    if (!(error instanceof IheError)) throw error;
    throw new ConfigError(`IHE_TLS: ${error.message}`);
  }
}

/**
 * A server for ITI-55, 38, 39 and 41, at `/ihe/<id of the membership>`. Only
 * clients with a certificate of one of the networks can connect.
 */
export async function createRespondingGateway(
  tls: Pick<TlsFiles, 'cert' | 'key'>,
  deps: RespondingGatewayDeps,
) {
  const { store, logger } = deps;
  const refusals = createRefusalAudit({ store, logger });
  const permits = new Permits(
    UNDER_WAY,
    'Too many requests are under way; try again in a moment.',
  );
  const largePermits = new Permits(
    LARGE_UNDER_WAY,
    'Too many large messages are under way; try again in a moment.',
  );

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    membership: StoredMembership,
  ): Promise<void> {
    const socket = request.socket as TLSSocket;
    const clientCertificate = new X509Certificate(
      socket.getPeerCertificate().raw,
    );
    const read: { envelope?: Envelope } = {};
    try {
      if (!isOfNetwork(socket, membership.trusted))
        throw new GatewayRefusal(
          'authentication',
          'The TLS certificate is not one of this network.',
        );
      const holder = clientCertificate.fingerprint256;
      const { accountId } = membership;
      const permit = permits.take(accountId, holder);
      const bytes = new PermittedBytes(
        // What is not read to its end is answered all the same.
        request.iterator({ destroyOnReturn: false }),
        XML_BYTES_MAX,
        () => largePermits.take(accountId, holder),
      );
      try {
        read.envelope = await readEnvelope(
          bytes,
          request.headers['content-type'],
          { limits: MESSAGE_LIMITS },
        );
        const { envelope } = read;
        const answered = await answerGatewayRequest(deps, {
          membership,
          clientCertificate,
          remoteAddress: socket.remoteAddress,
          envelope,
        });
        await send(response, 200, written(answered, envelope.messageId));
      } finally {
        bytes.leave();
        permit.leave();
      }
    } catch (error) {
      if (request.errored !== null)
        return void logger.info(
          { membershipId: membership.id },
          'a gateway ended its request before it was whole',
        );
      const refusal = refusalFor(error);
      if (refusal.reason === 'failed')
        logger.error(
          { err: error, membershipId: membership.id },
          'a request of a gateway could not be answered',
        );
      await refusals.note({
        accountId: membership.accountId,
        actor: actorOf('unverified'),
        operation: operationOfRequest(read.envelope),
        outcome: refusal.outcome,
        remoteAddress: socket.remoteAddress,
      });
      if (response.headersSent) return void response.destroy();
      await send(
        response,
        refusal.status,
        written(
          { action: FAULT_ACTION, body: refusal.fault() },
          read.envelope?.messageId,
        ),
      );
    }
  }

  const server: Server = createServer(
    {
      cert: tls.cert,
      key: tls.key,
      ...(await trustedBy(store)),
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      handshakeTimeout: LIMITS.handshakeMs,
      headersTimeout: LIMITS.headersMs,
      requestTimeout: LIMITS.requestMs,
      // Each connection shows its certificate anew.
      secureOptions: constants.SSL_OP_NO_TICKET,
    },
    (request, response) => {
      void (async () => {
        const membership = await membershipAt(store, request);
        if (membership === undefined) return refuseAddress(response);
        await answer(request, response, membership);
      })().catch((err: unknown) => {
        logger.info({ err }, 'an answer to a gateway was not sent');
        response.destroy();
      });
    },
  );
  server.maxConnections = LIMITS.connections;
  server.setTimeout(LIMITS.idleMs);
  server.on('tlsClientError', ({ message }, { remoteAddress }) =>
    logger.info(
      { remoteAddress, reason: message },
      'connection of a gateway refused: no mutual TLS',
    ),
  );
  const trust = setInterval(() => {
    trustedBy(store).then(
      (context) =>
        server.setSecureContext({ ...context, cert: tls.cert, key: tls.key }),
      (err: unknown) =>
        logger.warn({ err }, 'memberships could not be read again'),
    );
  }, TRUST_READ_EVERY_MS).unref();

  return {
    server,
    /** Answers what is under way, and resolves when all have ended. */
    async close() {
      clearInterval(trust);
      const closed = new Promise<void>((resolve) =>
        server.close(() => resolve()),
      );
      server.closeIdleConnections();
      await closed;
      permits.close();
      largePermits.close();
      await refusals.close();
    },
  };
}

/** The authorities of all networks; nobody is trusted without any. */
async function trustedBy(
  store: Pick<Store, 'asSystem'>,
): Promise<Pick<SecureContextOptions, 'ca' | 'allowPartialTrustChain'>> {
  const memberships = await store.asSystem((tx) => listMemberships(tx));
  const trusted = memberships
    .filter(({ enabled }) => enabled)
    .flatMap((each) => networkCertificatesOf(each.trusted));
  return {
    ca: trusted.map((each) => each.toString()),
    allowPartialTrustChain: true,
  };
}

async function membershipAt(
  store: Pick<Store, 'asSystem'>,
  { method, url = '' }: IncomingMessage,
): Promise<StoredMembership | undefined> {
  const [, text = ''] = /^\/ihe\/([^/?]+)$/.exec(url) ?? [];
  const id = uuidOf(text);
  if (method !== 'POST' || id === undefined) return undefined;
  const membership = await store.asSystem((tx) => findMembership(tx, id));
  return membership?.enabled === true ? membership : undefined;
}

function refuseAddress(response: ServerResponse): void {
  response
    .writeHead(404, { 'content-type': 'text/plain', connection: 'close' })
    .end('Nobody answers at this address.\n');
}

function refusalFor(error: unknown): GatewayRefusal {
  if (error instanceof GatewayRefusal) return error;
  if (error instanceof IheError) return refusalOfFailure(error);
  if (error instanceof ExchangeError && error.status === 503)
    return new GatewayRefusal('busy', error.message);
  return new GatewayRefusal('failed', 'The request could not be answered.');
}

function written(
  { action, body, attachments }: Omit<TransactionAnswer, 'given'>,
  relatesTo: string | undefined,
): OutgoingMessage {
  const envelope = writeEnvelope({
    action,
    messageId: newMessageId(),
    ...(relatesTo === undefined ? {} : { relatesTo }),
    body,
  });
  return attachments === undefined
    ? plainMessage(envelope, action)
    : mtomMessage(envelope, action, attachments);
}

async function send(
  response: ServerResponse,
  status: number,
  { contentType, contentLength, body }: OutgoingMessage,
): Promise<void> {
  response.writeHead(status, {
    'content-type': contentType,
    'cache-control': 'no-store',
    ...(contentLength === undefined
      ? {}
      : { 'content-length': String(contentLength) }),
    ...(status === 200 ? {} : { connection: 'close' }),
  });
  await pipeline(body, response);
}
