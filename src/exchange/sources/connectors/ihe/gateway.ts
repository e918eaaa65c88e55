import {
  type AttachmentStore,
  comparableId,
  type Envelope,
  IheError,
  type MessageLimits,
  newMessageId,
  type OutgoingAttachment,
  readEnvelope,
  type XmlElement,
  type XmlFragment,
} from '#ihe';
import type { SourceType } from '../../../../contract/primitives.ts';
import { SourceFailure, type SourceFailureKind } from '../connector.ts';
import { badResponse, failureOfStatus } from '../http/failures.ts';
import type { SourceResponse } from '../http/http-response.ts';
import type { SourceHttp } from '../http/source-http.ts';
import type { ResolvedSourceConfig } from '../source-config.ts';
import { failureOfFault, failureOfReading } from './ihe-failures.ts';
import type { IheSettings } from './ihe-settings.ts';
import type { MessageSigner } from './sign-message.ts';

export const GATEWAY_TRANSACTIONS = [
  'ITI-55',
  'ITI-38',
  'ITI-39',
  'ITI-41',
] as const;
type GatewayTransaction = (typeof GATEWAY_TRANSACTIONS)[number];

/** How a request to a gateway ended. */
type RequestOutcome = 'answered' | 'answered-later' | SourceFailureKind;

/** Is told of each request to a gateway; nothing in it is about a person. */
export type CountGatewayRequest = (
  source: SourceType,
  transaction: GatewayTransaction,
  outcome: RequestOutcome,
) => void;

/** What the calls to one gateway share. */
export interface Gateway {
  config: ResolvedSourceConfig;
  settings: IheSettings;
  /** The address as configured: base addresses end with a slash. */
  discoveryUrl: string;
  http: SourceHttp;
  signer: MessageSigner;
  now: () => number;
  countRequest?: CountGatewayRequest;
  /** What the gateway's last response showed. */
  seen: { clockAheadMs?: number };
}

export interface OutgoingCall<Stored> {
  transaction: GatewayTransaction;
  /** The transaction, in messages. */
  label: string;
  url: string;
  action: string;
  body: XmlFragment;
  /** Whether the message is sent as MTOM has it. */
  isMtom?: boolean;
  /** Sent beside the message, which refers to them. */
  attachments?: readonly OutgoingAttachment[];
  /** Headers beside those of addressing and security. */
  headers?: readonly XmlFragment[];
  /** The patient that the assertion is about, as a CX. */
  resourceId?: string;
  messageId?: string;
  /** Where the answer goes, if not on the same connection. */
  replyTo?: string;
  /** Where attachments of the answer go; by default into memory. */
  store: AttachmentStore<Stored>;
  limits: Partial<MessageLimits>;
  signal: AbortSignal;
}

/** An answer that is neither a fault nor that to another message. */
export interface AnsweredCall<Stored> {
  envelope: Envelope<Stored>;
  payload: XmlElement;
}

/** A document may take long, but not for ever. */
const ANSWER_MS_MAX = 15 * 60_000;

/**
 * Sends a message, with a signature and a MessageID of its own, and reads the
 * answer. Undefined when the answer is to come later (HTTP 202).
 * @throws SourceFailure
 */
export async function callGateway<Stored>(
  gateway: Gateway,
  call: OutgoingCall<Stored>,
): Promise<AnsweredCall<Stored> | undefined> {
  const { config, countRequest } = gateway;
  const count = (outcome: RequestOutcome) =>
    countRequest?.(config.source, call.transaction, outcome);
  try {
    const answer = await sendToGateway(gateway, call);
    count(answer === undefined ? 'answered-later' : 'answered');
    return answer;
  } catch (error) {
    // Anything else is ours: a step that was cancelled, for example.
    if (error instanceof SourceFailure) count(error.kind);
    throw error;
  }
}

async function sendToGateway<Stored>(
  gateway: Gateway,
  call: OutgoingCall<Stored>,
): Promise<AnsweredCall<Stored> | undefined> {
  const { http, signer } = gateway;
  const messageId = call.messageId ?? newMessageId();
  const { contentType, bytes } = await signer.write({ ...call, messageId });
  const response = await http.send({
    method: 'POST',
    url: new URL(call.url),
    label: call.label,
    accept: 'application/soap+xml, multipart/related',
    body: { text: bytes, contentType },
    streamed: true,
    wholeMsMax: ANSWER_MS_MAX,
    signal: call.signal,
  });
  gateway.seen.clockAheadMs = clockAheadMs(gateway, response);
  if (response.status === 202 && call.replyTo !== undefined) {
    await response.discard();
    return undefined;
  }
  const envelope = await readAnswer(gateway, call, response);
  return checkedAnswer(gateway, call, envelope, messageId);
}

async function readAnswer<Stored>(
  gateway: Gateway,
  { label, store, limits }: OutgoingCall<Stored>,
  response: SourceResponse,
): Promise<Envelope<Stored>> {
  const { source } = gateway.config;
  const { status } = response;
  // A fault may come under any status.
  const isOk = status === 200 || status === 202;
  if (!isOk && !/xml|multipart/.test(response.mediaType)) {
    await response.discard();
    throw failureOfStatus(source, label, response);
  }
  try {
    const envelope = await readEnvelope(
      response.chunks(),
      response.header('content-type'),
      { store, limits },
    );
    if (envelope.fault !== undefined)
      throw failureOfFault(source, label, envelope.fault, clockHint(gateway));
    if (!isOk) throw failureOfStatus(source, label, response);
    return envelope;
  } catch (error) {
    if (!(error instanceof IheError)) throw error;
    throw isOk
      ? failureOfReading(source, label, error)
      : failureOfStatus(source, label, response);
  }
}

function checkedAnswer<Stored>(
  { config }: Gateway,
  { label }: OutgoingCall<Stored>,
  envelope: Envelope<Stored>,
  messageId: string,
): AnsweredCall<Stored> {
  const { payload, relatesTo } = envelope;
  if (payload === undefined)
    throw badResponse(config.source, `answered ${label} with an empty message`);
  if (
    relatesTo !== undefined &&
    comparableId(relatesTo) !== comparableId(messageId)
  )
    throw badResponse(
      config.source,
      `answered ${label} with the answer to another message`,
    );
  return { envelope, payload };
}

/** Receivers allow five minutes between two clocks. */
const CLOCK_SKEW_MS_MAX = 5 * 60_000;

/**
 * How far the gateway's clock is ahead of ours in milliseconds, by the time of
 * its response; undefined where it tells none.
 */
function clockAheadMs(
  { now }: Gateway,
  response: SourceResponse,
): number | undefined {
  const date = Date.parse(response.header('date') ?? '');
  return Number.isNaN(date) ? undefined : date - now();
}

/**
 * That the gateway's clock is off by more than receivers allow for; undefined
 * when it is not, or that cannot be seen.
 */
export function clockFault({ seen }: Gateway): string | undefined {
  const aheadMs = seen.clockAheadMs ?? 0;
  if (Math.abs(aheadMs) < CLOCK_SKEW_MS_MAX) return undefined;
  const minutes = Math.round(Math.abs(aheadMs) / 60_000);
  return `its clock is ${minutes} minutes ${aheadMs > 0 ? 'ahead of' : 'behind'} ours`;
}

function clockHint(gateway: Gateway): string {
  const fault = clockFault(gateway);
  return fault === undefined ? '' : `; ${fault}`;
}

/** Whether a failure may pass by itself. */
export const mayPass = (failure: SourceFailure): boolean =>
  failure.kind === 'transport' || failure.kind === 'rate-limited';
