import type { FastifyInstance } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import {
  MESSAGE_ATTACHMENT_BYTES_MAX,
  MESSAGES_PER_MINUTE,
  type MessageRequest,
  transportOf,
} from '../../contract/messages.ts';
import { findPatient } from '../patients/patient-store.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { ExchangeError, InvalidRequestError } from '../platform/errors.ts';
import type { GatewayPlatform } from '../platform/http/deps.ts';
import { ok, orNotFound } from '../platform/http/operation.ts';
import type { Operations } from '../platform/http/operations.ts';
import { openPage } from '../platform/http/paging.ts';
import type { Caller } from '../platform/http/plugins/auth.ts';
import { Places } from '../platform/limits/places.ts';
import { countStart, type StartLimit } from '../platform/limits/start-limit.ts';
import { refuseUnsigned, verifySourceCallback } from '../sources/callback.ts';
import { takeMessageCallback } from './inbound.ts';
import type { MessageLauncher } from './launcher.ts';
import {
  documentsOfPatient,
  findMessage,
  insertMessage,
  listMessages,
  MESSAGE_ORDER,
} from './message-store.ts';
import { serializeMessage } from './serializers.ts';

/** E12 and the operations around it. */
export function addMessageRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'publicBaseUrl' | 'linkSigningKey'> & {
    messages?: Pick<MessageLauncher, 'launch' | 'receiptCame'>;
  },
): void {
  operations.read('listMessages', async (tx, { query }) => {
    const { direction, patientId, destination, status } = query;
    const opened = openPage(deps, 'listMessages', { query }, MESSAGE_ORDER);
    const filter = { direction, patientId, destination, status };
    const page = await listMessages(tx, filter, opened.request);
    return ok({ messages: page.items.map(serializeMessage), meta: opened.meta(page) });
  });

  operations.read('getMessage', async (tx, { params }) =>
    ok(serializeMessage(orNotFound('Message', await findMessage(tx, params.id)))),
  );

  operations.write('sendMessage', async (tx, { query, body, caller }) => {
    const { messages } = deps;
    if (messages === undefined)
      throw new ExchangeError(503, 'This service has no transport partner for messages; ask its operator');
    await countStart(tx, limitOf(caller));
    const patient = orNotFound('Patient', await findPatient(tx, query.patientId));
    const attachments = body.attachments ?? [];
    await checkAttachments(tx, patient.id, attachments);
    const message = await insertMessage(tx, {
      id: uuidv7(),
      patientId: patient.id,
      direction: 'outbound',
      status: 'processing',
      ...wayOf(body),
      subject: body.subject,
      body: body.body ?? null,
      attachments,
      intendedRecipientNpi: body.intendedRecipientNpi ?? [],
    });
    if (message === undefined) throw new Error('a message that was just made was there before');
    const { accountId } = tx;
    return ok(serializeMessage(message), {
      patientId: patient.id,
      targetId: message.id,
      afterCommit: () => messages.launch(accountId, message.id),
    });
  });
}

function wayOf({ destination, network }: MessageRequest) {
  const transportMethod = transportOf(destination);
  if (transportMethod === undefined) throw new Error('a destination that passed validation is none');
  return {
    destination,
    transportMethod,
    network: transportMethod === 'xdr' ? (network ?? ('CAREQUALITY' as const)) : null,
  };
}

/** Throws InvalidRequestError: what is another patient's is not told from what is not there. */
async function checkAttachments(tx: AccountTx, patientId: string, ids: readonly string[]): Promise<void> {
  const documents = await documentsOfPatient(tx, patientId, ids);
  const known = new Set(documents.map(({ id }) => id));
  const unknown = ids.flatMap((id, index) =>
    known.has(id) ? [] : [{ path: `attachments[${index}]`, message: 'is not a document of this patient' }],
  );
  if (unknown.length > 0) throw new InvalidRequestError(unknown);
  const sizeBytes = documents.reduce((sum, document) => sum + document.sizeBytes, 0);
  if (sizeBytes <= MESSAGE_ATTACHMENT_BYTES_MAX) return;
  const message = `have ${sizeBytes} bytes together, ${MESSAGE_ATTACHMENT_BYTES_MAX} at most; send several messages`;
  throw new InvalidRequestError([{ path: 'attachments', message }]);
}

const limitOf = ({ account }: Caller): StartLimit => ({
  name: 'message',
  what: 'messages',
  perMinute: account.settings.limits?.messagesPerMinute ?? MESSAGES_PER_MINUTE,
});

/** Attachments in base64 take a third more room, and the text comes on top. */
const BODY_BYTES_MAX = Math.ceil(MESSAGE_ATTACHMENT_BYTES_MAX / 3) * 4 + 1024 * 1024;
/** Only so many bodies above this size are read at a time, for their signature can be verified only when they are whole. */
const LARGE_BODY_BYTES = 1024 * 1024;
/** For each address fewer, so that a stranger does not keep the partner out. Behind a proxy this needs TRUSTED_PROXIES. */
const LARGE_BODIES = { all: 6, account: 3, holder: 3 };

/** Where the transport partner brings messages and receipts. No API key: it signs its body, kept as it came. */
export function addMessageCallbackRoute(
  app: FastifyInstance,
  deps: Pick<GatewayPlatform, 'store' | 'blobs' | 'idHmacKey' | 'messageSecret'> & {
    messages?: Pick<MessageLauncher, 'launch' | 'receiptCame'>;
  },
): void {
  refuseUnsigned(app);
  boundLargeBodies(app);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX }, (_request, body, done) =>
    done(null, body),
  );
  app.post(
    '/messages/callback',
    { schema: { hide: true }, config: { operation: 'messageCallback' } },
    async (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const { messageSecret, messages } = deps;
      if (messageSecret === undefined) return reply.code(404).send();
      if (!verifySourceCallback(messageSecret, request.headers, body).isGenuine)
        return reply.code(401).send();
      const receiptCame = (messageId: string): void => messages?.receiptCame(messageId);
      const { status, problem } = await takeMessageCallback({ ...deps, receiptCame }, body);
      if (status !== 200 && problem !== undefined) throw new ExchangeError(status, problem);
      return reply.code(status).send();
    },
  );
}

function boundLargeBodies(app: FastifyInstance): void {
  const places = new Places(LARGE_BODIES, 'Too many large messages are being received at the moment');
  app.addHook('onRequest', async (request, reply) => {
    const length = Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
    if (length <= LARGE_BODY_BYTES) return;
    const { leave } = places.take(request.ip, request.ip);
    reply.raw.once('close', leave);
  });
}
