import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { OperationOutcome } from 'fhir/r4.js';
import { UnreadableMessageError } from '#hl7v2-to-fhir';
import { ExchangeError, InvalidRequestError } from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { acceptBundle } from './fhir/accept-bundle.ts';
import type { FollowUps } from './follow-up/follow-ups.ts';
import { acknowledgement } from './hl7v2/acknowledge.ts';
import {
  batchOf,
  type ParsedMessage,
  parseAll,
  takeIn,
} from './hl7v2/respond.ts';
import { createIntake } from './intake.ts';
import type { Recordings } from './recording/recordings.ts';
import {
  authenticateSender,
  MESSAGE_BYTES_MAX,
  type NotificationSender,
} from './senders.ts';

const HL7_TYPES = [
  'application/hl7-v2',
  'x-application/hl7-v2+er7',
  'text/plain',
];
const FHIR_TYPES = ['application/fhir+json', 'application/json'];
const HL7_ANSWER = 'application/hl7-v2; charset=utf-8';

type SenderRequest = FastifyRequest<{ Params: { sender: string } }>;

/**
 * Adds the routes for senders of notifications (docs/interface.md, "Senders of
 * notifications"). Each sender authenticates with its own secret as a bearer
 * token, and gets a response once its message is committed. HL7 v2: an
 * acknowledgement with 200, also for a refused message (AE, AR). FHIR: an
 * OperationOutcome with 200 or 400. After any other status the message was not
 * accepted and may be sent again.
 */
export function addInboundNotificationRoutes(
  app: FastifyInstance,
  deps: Pick<
    GatewayPlatform,
    'store' | 'blobs' | 'webhookDispatcher' | 'idHmacKey' | 'logger'
  > & {
    followUps: Pick<FollowUps, 'launch' | 'wake'>;
    recordings: Pick<Recordings, 'launch'>;
    /** Systems that may send notifications. Default: none. */
    notificationSenders?: readonly NotificationSender[];
  },
): void {
  const intake = createIntake(deps);
  const senders = new WeakMap<FastifyRequest, NotificationSender>();
  const senderOf = (request: SenderRequest): NotificationSender => {
    const sender = senders.get(request);
    if (sender === undefined)
      throw new Error('A sender route was registered without authentication');
    return sender;
  };

  // Authenticate before the body is read.
  app.addHook('onRequest', async (request) => {
    const { sender: name } = (request as SenderRequest).params;
    const sender = authenticateSender(
      deps.notificationSenders ?? [],
      name,
      request.headers.authorization,
    );
    if (sender === undefined)
      throw new ExchangeError(
        401,
        'The bearer token of this sender is missing or wrong',
        {
          headers: { 'www-authenticate': 'Bearer realm="notifications"' },
        },
      );
    senders.set(request, sender);
  });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: MESSAGE_BYTES_MAX },
    (_request, body, done) => done(null, body),
  );

  const refuse = (
    sender: NotificationSender,
    { kind, place }: UnreadableMessageError,
  ): void =>
    deps.logger.info(
      { sender: sender.name, kind, place },
      'notification refused',
    );

  app.post(
    '/notifications/hl7v2/:sender',
    { schema: { hide: true }, config: { operation: 'notifyByHl7v2' } },
    async (request: SenderRequest, reply) => {
      const bytes = bodyOf(request, HL7_TYPES);
      const sender = senderOf(request);
      const acknowledgements: string[] = [];
      for (const message of parseWithHeader(bytes))
        acknowledgements.push(
          acknowledgement(
            message.parsed,
            await takeIn({ intake, logger: deps.logger }, sender, message),
          ),
        );
      return reply.type(HL7_ANSWER).send(batchOf(acknowledgements));
    },
  );

  app.post(
    '/notifications/fhir/:sender',
    { schema: { hide: true }, config: { operation: 'notifyByFhir' } },
    async (request: SenderRequest, reply) => {
      const bytes = bodyOf(request, FHIR_TYPES);
      const sender = senderOf(request);
      reply.type(FHIR_JSON);
      try {
        const { message } = acceptBundle(bytes);
        await intake.accept(sender, 'fhir', bytes, message);
        return reply.send(JSON.stringify(accepted()));
      } catch (error) {
        if (!(error instanceof UnreadableMessageError)) throw error;
        refuse(sender, error);
        return reply.code(400).send(JSON.stringify(refused(error)));
      }
    },
  );
}

/**
 * Parses the messages. Without a header no acknowledgement is possible, so the
 * error becomes a 400.
 */
function parseWithHeader(bytes: Buffer): ParsedMessage[] {
  try {
    return parseAll(bytes);
  } catch (error) {
    if (!(error instanceof UnreadableMessageError)) throw error;
    throw new InvalidRequestError([
      { path: error.place ?? '', message: error.message },
    ]);
  }
}

function bodyOf(request: FastifyRequest, types: readonly string[]): Buffer {
  const type =
    (request.headers['content-type'] ?? '')
      .split(';', 1)[0]
      ?.trim()
      .toLowerCase() ?? '';
  if (!types.includes(type))
    throw new ExchangeError(
      415,
      `The Content-Type must be one of ${types.join(', ')}`,
    );
  return Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
}

const FHIR_JSON = 'application/fhir+json; charset=utf-8';

/**
 * The response to an accepted message. It does not reveal whether a patient
 * matched.
 */
const accepted = (): OperationOutcome => ({
  resourceType: 'OperationOutcome',
  issue: [
    { severity: 'information', code: 'informational', diagnostics: 'Accepted' },
  ],
});

/** The response to a refused message: what is wrong, and where. */
const refused = ({
  kind,
  message,
  place,
}: UnreadableMessageError): OperationOutcome => ({
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
