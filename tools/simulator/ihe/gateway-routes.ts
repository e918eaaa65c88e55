import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  ANONYMOUS,
  CROSS_GATEWAY_ACTIONS,
  DISCOVERY_ACTIONS,
  type Envelope,
  IheError,
  readEnvelope,
  readPatientDiscovery,
  SUBMISSION_ACTIONS,
} from '#ihe';
import type { GatewayTrouble } from '../../../src/local-stack/simulator/faults.ts';
import type { Operation } from '../../../src/local-stack/simulator/protocol.ts';
import type { SimulatedResponse } from '../response.ts';
import { likelySample } from '../routes/match.ts';
import type { Route } from '../routes/route.ts';
import type { SourceCall } from '../source.ts';
import {
  answerDiscovery,
  DISCOVERY_TROUBLES,
  deferredDelaysMs,
} from './answer-discovery.ts';
import {
  answerQuery,
  answerRetrieve,
  QUERY_TROUBLES,
  RETRIEVE_TROUBLES,
  sampleOfQuery,
  sampleOfRetrieval,
} from './answer-documents.ts';
import { answerSubmission, SUBMISSION_TROUBLES } from './answer-submission.ts';
import type { DeferredAnswers } from './deferred-answers.ts';
import {
  faultResponse,
  type GatewayCall,
  type GatewayReply,
  replyMessage,
  replyResponse,
} from './gateway-call.ts';
import { queryOfCriteria } from './gateway-patients.ts';

/** What a message of any kind may meet. */
const TROUBLES_OF_ALL = [
  'html',
  'empty',
  'fault',
  'cut',
] as const satisfies readonly GatewayTrouble[];

interface Transaction {
  path: string;
  operation: Operation;
  actions: readonly string[];
  troubles: readonly GatewayTrouble[];
  sample(question: GatewayCall): string | undefined;
  answer(question: GatewayCall, deferred: DeferredAnswers): GatewayReply;
}

const TRANSACTIONS: readonly Transaction[] = [
  {
    path: '/discovery',
    operation: 'match',
    actions: [DISCOVERY_ACTIONS.question, DISCOVERY_ACTIONS.deferredQuestion],
    troubles: DISCOVERY_TROUBLES,
    sample: sampleOfDiscovery,
    answer: (question, deferred) =>
      answerDiscovery(question, sampleOfDiscovery(question), deferred),
  },
  {
    path: '/query',
    operation: 'document',
    actions: [CROSS_GATEWAY_ACTIONS.query],
    troubles: QUERY_TROUBLES,
    sample: sampleOfQuery,
    answer: answerQuery,
  },
  {
    path: '/retrieve',
    operation: 'binary',
    actions: [CROSS_GATEWAY_ACTIONS.retrieve],
    troubles: RETRIEVE_TROUBLES,
    sample: sampleOfRetrieval,
    answer: answerRetrieve,
  },
  {
    path: '/submission',
    operation: 'document',
    actions: [SUBMISSION_ACTIONS.submit],
    troubles: SUBMISSION_TROUBLES,
    // A submission is about a person whom we may not know.
    sample: () => undefined,
    answer: answerSubmission,
  },
];

function sampleOfDiscovery({ call, payload }: GatewayCall) {
  const { criteria } = readPatientDiscovery(payload);
  return likelySample(call, queryOfCriteria(criteria));
}

/**
 * The routes of a responding gateway: ITI-55, ITI-38 and ITI-39, for the same
 * patients as the source's FHIR, and ITI-41, which it takes and forgets. It
 * asks for no access token, and takes a caller's assertion as it is.
 */
export function gatewayRoutes(deferred: DeferredAnswers): Route[] {
  return TRANSACTIONS.map((transaction) => ({
    method: 'POST',
    path: transaction.path,
    operation: transaction.operation,
    open: () => true,
    sample: (call) => {
      const question = questionOf(call);
      return question && transaction.sample(question);
    },
    answer: (call) => answer(transaction, call, deferred),
  }));
}

/** Reads SOAP messages, whatever their Content-Type calls them. */
export function addSoapParser(app: FastifyInstance): void {
  app.addContentTypeParser(
    /^(?:application\/(?:soap|xop)\+xml|text\/xml|multipart\/related)/,
    async (request: FastifyRequest, payload: IncomingMessage) => {
      const type = request.headers['content-type'];
      return readEnvelope(payload, type).catch((error: unknown) => {
        if (error instanceof IheError) return undefined;
        throw error;
      });
    },
  );
}

function questionOf(call: SourceCall): GatewayCall | undefined {
  const envelope = call.request.body as Envelope | undefined;
  const { payload } = envelope ?? {};
  return envelope === undefined || payload === undefined
    ? undefined
    : { call, envelope, payload, trouble: undefined };
}

async function answer(
  transaction: Transaction,
  call: SourceCall,
  deferred: DeferredAnswers,
): Promise<SimulatedResponse> {
  const question = questionOf(call);
  if (question === undefined)
    return faultResponse(
      { messageId: undefined },
      { code: 'Sender', reason: 'The message cannot be read.' },
    );
  const { envelope } = question;
  if (!transaction.actions.includes(envelope.action ?? ''))
    return faultResponse(envelope, ACTION_NOT_SUPPORTED);

  const trouble = call.takeGatewayTrouble([
    ...TROUBLES_OF_ALL,
    ...transaction.troubles,
  ]);
  if (trouble === 'html') return PAGE;
  if (trouble === 'empty') return NOTHING;
  if (trouble === 'fault') return faultResponse(envelope, FAULT);
  const reply = transaction.answer({ ...question, trouble }, deferred);
  if (wantsAnswerElsewhere(envelope)) {
    deferred.send({
      url: envelope.replyTo,
      message: () => replyMessage(reply, envelope.messageId),
      delaysMs: deferredDelaysMs(call),
      sample: transaction.sample(question),
    });
    return { status: 202 };
  }
  const response = await replyResponse(reply, envelope);
  return trouble === 'cut' ? halfOf(response) : response;
}

const ACTION_NOT_SUPPORTED = {
  code: 'Sender',
  subcode: {
    namespace: 'http://www.w3.org/2005/08/addressing',
    name: 'ActionNotSupported',
  },
  reason: 'The action is not one of this address.',
} as const;

/** Real ones name patients, too: this one is nobody. */
const FAULT = {
  code: 'Receiver',
  reason: 'java.lang.NullPointerException: patient Jane Q. Public, 1970-01-01',
} as const;

const PAGE: SimulatedResponse = {
  status: 200,
  contentType: 'text/html; charset=utf-8',
  body: '<!doctype html><html><body><h1>Scheduled maintenance</h1></body></html>',
};

const NOTHING: SimulatedResponse = {
  status: 200,
  contentType: 'application/soap+xml; charset=UTF-8',
  body: '',
};

/** Whether a message's answer is to come on another connection. */
const wantsAnswerElsewhere = (
  envelope: Envelope,
): envelope is Envelope & { replyTo: string } =>
  envelope.replyTo !== undefined &&
  envelope.replyTo !== ANONYMOUS &&
  /^https?:/.test(envelope.replyTo);

function halfOf(response: SimulatedResponse): SimulatedResponse {
  const { body } = response;
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(String(body));
  return { ...response, body: bytes.subarray(0, Math.floor(bytes.length / 2)) };
}
