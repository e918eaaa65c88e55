import { randomUUID } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import {
  buildDiscoveryAcknowledgement,
  DISCOVERY_ACTIONS,
  type Envelope,
  IheError,
  newMessageId,
  readEnvelope,
  readPatientDiscoveryResponse,
  writeEnvelope,
  writeFault,
  type XmlFragment,
} from '#ihe';
import type { Platform } from '../../platform/platform.ts';
import { DEFERRED_PATH, type DeferredAnswerStore } from './deferred-answers.ts';
import { noteAnswer } from './fan-out/ask-store.ts';
import type { SourceCallbacks } from './source-callback.ts';
import { addToTimeline } from './timeline-store.ts';

/** The answer to a patient discovery is a few candidates. */
const BODY_BYTES_MAX = 4_000_000;

/**
 * Adds the door for answers that gateways send later: SOAP, at an address whose
 * token cannot be guessed and was given to one gateway for one question. The
 * answer is stored before it is acknowledged, and the workflow signalled after;
 * when that has ended, the next query takes the answer.
 */
export function addDeferredAnswerRoute(
  app: FastifyInstance,
  {
    store,
    deferredAnswers,
    sourceCallbacks,
  }: Pick<Platform, 'store'> & {
    deferredAnswers: DeferredAnswerStore;
    sourceCallbacks: Pick<SourceCallbacks, 'announce'>;
  },
): void {
  // Before the body is read: nobody else may make us read one.
  app.addHook<{ Params: { token: string } }>(
    'onRequest',
    async ({ params }, reply) => {
      if (!deferredAnswers.isKnown(params.token)) return reply.code(404).send();
    },
  );
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'buffer', bodyLimit: BODY_BYTES_MAX },
    (_request, body, done) => done(null, body),
  );
  app.post<{ Params: { token: string } }>(
    `${DEFERRED_PATH}/:token`,
    { schema: { hide: true }, config: { operation: 'deferredAnswer' } },
    async (request, reply) => {
      const { token } = request.params;
      const body = Buffer.isBuffer(request.body)
        ? request.body
        : Buffer.alloc(0);
      reply.type(SOAP_TYPE);
      const said = await readSaid(body, request.headers['content-type']);
      if (said instanceof IheError)
        return reply.code(500).send(refusal(said.message));
      const answered = await receive(token, said);
      if (answered === undefined)
        return reply
          .code(500)
          .send(refusal('The message answers no question of ours'));
      // Only XCPD's deferred answer is acknowledged by a message (ITI TF-2
      // 3.55.6.2); an asynchronous one is all that WS-Addressing has.
      if (said.envelope.action !== DISCOVERY_ACTIONS.deferredAnswer)
        return reply.removeHeader('content-type').code(202).send();
      return reply.send(acknowledgement(said.envelope));
    },
  );

  async function receive(token: string, { envelope, discoveryId }: Said) {
    const received = await deferredAnswers.receive(token, {
      relatesTo: envelope.relatesTo,
      discoveryId,
      isFault: envelope.fault !== undefined,
      bytes: envelope.source,
    });
    if (received?.isFirst !== true) return received;
    if (received.status === 'running') await announce(received);
    else await noteLate(received, envelope.fault !== undefined);
    return received;
  }

  /** A gateway's answer is told of once in each step of its attempt. */
  async function announce(received: RunningQuestion): Promise<void> {
    const { accountId, requestId, source, attempt, connection } = received;
    const told = await store.asAccount(accountId, (tx) =>
      noteAnswer(tx, { requestId, source, attempt }, connection),
    );
    if (told !== 'told') await sourceCallbacks.announce(received);
  }

  async function noteLate(
    {
      accountId,
      requestId,
      source,
      attempt,
    }: NonNullable<Awaited<ReturnType<DeferredAnswerStore['receive']>>>,
    isFault: boolean,
  ): Promise<void> {
    const what = isFault
      ? `sent a SOAP fault instead of an answer to the patient discovery, after the end`
      : `answered the patient discovery after the end; the next query uses the answer`;
    await store.asAccount(accountId, (tx) =>
      addToTimeline(tx, requestId, {
        source,
        attempt,
        kind: 'notice',
        message: `The ${source} source ${what}`,
        onceKey: `late-answer/${source}/${attempt}`,
      }),
    );
  }
}

type RunningQuestion = NonNullable<
  Awaited<ReturnType<DeferredAnswerStore['receive']>>
>;

const SOAP_TYPE = 'application/soap+xml; charset=UTF-8';

/** A message at our door: an answer, or a fault in place of one. */
interface Said {
  envelope: Envelope;
  /** The query of ours that it names. */
  discoveryId: string | undefined;
}

async function readSaid(
  body: Buffer,
  contentType: string | undefined,
): Promise<Said | IheError> {
  try {
    const envelope = await readEnvelope(body, contentType);
    const { payload, fault } = envelope;
    if (payload === undefined || fault !== undefined)
      return { envelope, discoveryId: undefined };
    const { queryId } = readPatientDiscoveryResponse(payload);
    return { envelope, discoveryId: queryId?.root };
  } catch (error) {
    if (error instanceof IheError) return error;
    throw error;
  }
}

const refusal = (reason: string): string =>
  writeEnvelope({
    action: 'http://www.w3.org/2005/08/addressing/fault',
    messageId: newMessageId(),
    body: writeFault({ code: 'Sender', reason }),
  });

function acknowledgement(envelope: Envelope): string {
  const community = { deviceId: '2.999' };
  const body: XmlFragment = buildDiscoveryAcknowledgement(
    {
      messageId: { root: randomUUID(), extension: undefined },
      sentAt: new Date(),
      processing: 'P',
      sender: community,
      receiver: community,
    },
    { messageId: undefined },
  );
  return writeEnvelope({
    action: DISCOVERY_ACTIONS.acknowledgement,
    messageId: newMessageId(),
    ...(envelope.messageId === undefined
      ? {}
      : { relatesTo: envelope.messageId }),
    body,
  });
}
