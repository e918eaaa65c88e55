import type { X509Certificate } from 'node:crypto';
import {
  ANONYMOUS,
  attributeOf,
  buildFindDocumentsResponse,
  buildRegistryResponse,
  buildRetrieveResponse,
  CROSS_GATEWAY_ACTIONS,
  DISCOVERY_ACTIONS,
  type Envelope,
  type RegistryFault,
  readDocumentQuery,
  readPatientDiscovery,
  readRetrieve,
  SUBMISSION_ACTIONS,
  withUrnOid,
  type XmlElement,
} from '#ihe';
import { countUse } from '../../platform/limits/limit-store.ts';
import { answerDocumentQuery, answerRetrieval } from './answer-documents.ts';
import { type Asker, authenticateAsker } from './asker.ts';
import {
  answerDiscoveryRequest,
  discoveryAnswer,
} from './discovery-exchange.ts';
import type { StoredMembership } from './membership-store.ts';
import { GatewayRefusal } from './refusal.ts';
import {
  type AnswerDeps,
  auditGiven,
  type TransactionAnswer,
} from './transaction.ts';

/** A request as it came. */
export interface ReceivedGatewayRequest {
  membership: StoredMembership;
  clientCertificate: X509Certificate;
  remoteAddress: string | undefined;
  envelope: Envelope;
}

interface Transaction {
  /** As the audit and the accounting of disclosures name it. */
  operation: string;
  actions: readonly string[];
  /** Namespaces of headers that it reads besides addressing and security. */
  headers?: readonly string[];
  answer(
    deps: AnswerDeps,
    asker: Asker,
    envelope: Envelope,
    payload: XmlElement,
  ): Promise<TransactionAnswer>;
  /** Said to a community that asks more often than it may. */
  busy(asker: Asker, payload: XmlElement): Omit<TransactionAnswer, 'given'>;
}

/** The namespace of XDR's header, which names the recipient (ITI TF-2 3.41). */
const XDR = 'urn:ihe:iti:xdr:2014';

/** By the name of the message in the SOAP body. */
const TRANSACTIONS: ReadonlyMap<string, Transaction> = new Map<
  string,
  Transaction
>([
  [
    'PRPA_IN201305UV02',
    {
      operation: 'gatewayDiscovery',
      actions: [DISCOVERY_ACTIONS.question, DISCOVERY_ACTIONS.deferredQuestion],
      answer: answerDiscoveryRequest,
      busy: (asker, payload) =>
        discoveryAnswer(asker.membership, readPatientDiscovery(payload), {
          problem: 'ResponderBusy',
        }),
    },
  ],
  [
    'AdhocQueryRequest',
    {
      operation: 'gatewayDocumentQuery',
      actions: [CROSS_GATEWAY_ACTIONS.query],
      answer: async (deps, { membership }, _envelope, payload) => ({
        action: CROSS_GATEWAY_ACTIONS.queryResponse,
        ...(await answerDocumentQuery(
          deps,
          membership,
          readDocumentQuery(payload),
        )),
      }),
      busy: (asker) => ({
        action: CROSS_GATEWAY_ACTIONS.queryResponse,
        body: buildFindDocumentsResponse({
          status: 'Failure',
          entries: [],
          faults: [busyFault('XDSRegistryBusy', asker)],
        }),
      }),
    },
  ],
  [
    'RetrieveDocumentSetRequest',
    {
      operation: 'gatewayDocument',
      actions: [CROSS_GATEWAY_ACTIONS.retrieve],
      answer: async (deps, { membership }, _envelope, payload) => ({
        action: CROSS_GATEWAY_ACTIONS.retrieveResponse,
        ...(await answerRetrieval(deps, membership, readRetrieve(payload))),
      }),
      busy: (asker) => ({
        action: CROSS_GATEWAY_ACTIONS.retrieveResponse,
        body: buildRetrieveResponse({
          status: 'Failure',
          documents: [],
          faults: [busyFault('XDSRepositoryBusy', asker)],
        }),
        attachments: [],
      }),
    },
  ],
  [
    'ProvideAndRegisterDocumentSetRequest',
    {
      operation: 'gatewaySubmission',
      actions: [SUBMISSION_ACTIONS.submit],
      headers: [XDR],
      answer: async (deps, asker, envelope, payload) => {
        const taken = await deps.takeSubmission(asker, envelope, payload);
        const { faults, messageId, patientId } = taken;
        const isTaken = messageId !== undefined;
        return {
          ...submissionAnswer(isTaken ? 'Success' : 'Failure', faults),
          given: [
            {
              patientId,
              targetId: messageId,
              outcome: isTaken ? '200' : '400',
            },
          ],
        };
      },
      busy: (asker) =>
        submissionAnswer('Failure', [busyFault('XDSRepositoryBusy', asker)]),
    },
  ],
]);

const submissionAnswer = (
  status: 'Success' | 'Failure',
  faults: readonly RegistryFault[],
): Omit<TransactionAnswer, 'given'> => ({
  action: SUBMISSION_ACTIONS.submitResponse,
  body: buildRegistryResponse(status, faults),
  attachments: [],
});

const busyFault = (code: string, { membership }: Asker) => ({
  code,
  context: 'Your community asks more often than it may; try again in a minute.',
  location: withUrnOid(membership.settings.homeCommunity),
});

/** The operation in the audit; also of a request that is refused. */
export const operationOfRequest = (envelope: Envelope | undefined): string =>
  TRANSACTIONS.get(envelope?.payload?.name ?? '')?.operation ??
  'gatewayRequest';

/**
 * Answers a request of another member of the network: verifies it, answers by
 * what networks may see, and audits what is given before it is sent.
 *
 * @throws {GatewayRefusal}
 */
export async function answerGatewayRequest(
  deps: AnswerDeps,
  received: ReceivedGatewayRequest,
): Promise<TransactionAnswer> {
  const { envelope, membership, clientCertificate } = received;
  const { payload } = envelope;
  const transaction = TRANSACTIONS.get(payload?.name ?? '');
  refuseOddHeaders(envelope, transaction?.headers ?? []);
  const { action } = envelope;
  if (
    payload === undefined ||
    transaction === undefined ||
    action === undefined ||
    !transaction.actions.includes(action)
  )
    throw new GatewayRefusal(
      'action',
      'The action is not one of this address, or not that of the message.',
    );
  const asker = await authenticateAsker(
    deps.store,
    membership,
    clientCertificate,
    envelope,
  );
  const isBusy = await hasAskedTooOften(deps, asker);
  const answer: TransactionAnswer = isBusy
    ? { ...transaction.busy(asker, payload), given: [{ outcome: '429' }] }
    : await transaction.answer(deps, asker, envelope, payload);
  await deps.store.asAccount(membership.accountId, (tx) =>
    auditGiven(tx, asker, {
      operation: transaction.operation,
      given: answer.given,
      remoteAddress: received.remoteAddress,
    }),
  );
  return answer;
}

const SOAP = 'http://www.w3.org/2003/05/soap-envelope';
/** Headers that are understood, by their namespaces. */
const UNDERSTOOD: ReadonlySet<string> = new Set([
  'http://www.w3.org/2005/08/addressing',
  'http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd',
]);

function refuseOddHeaders(
  { body, header, replyTo }: Envelope,
  understood: readonly string[],
): void {
  if (body.namespace !== SOAP)
    throw new GatewayRefusal('version', 'Only SOAP 1.2 is spoken here.');
  const unknown = (header?.children ?? []).filter(
    (each) =>
      /^(?:1|true)$/.test(attributeOf(each, 'mustUnderstand', SOAP) ?? '') &&
      !UNDERSTOOD.has(each.namespace) &&
      !understood.includes(each.namespace),
  );
  if (unknown.length > 0)
    throw new GatewayRefusal(
      'header',
      'The request has a header that must be understood, and is not.',
    );
  if (replyTo !== undefined && replyTo !== ANONYMOUS)
    throw new GatewayRefusal(
      'reply-to',
      'Answers go back on the same connection; use the deferred option of patient discovery for a later one.',
    );
}

/** Counted across all gateways. */
async function hasAskedTooOften(
  { store }: Pick<AnswerDeps, 'store'>,
  { membership, community }: Asker,
): Promise<boolean> {
  const [use] = await store.asAccount(membership.accountId, (tx) =>
    countUse(tx, [`gateway ${membership.id} ${community}`]),
  );
  return (use?.used ?? 0) > membership.settings.requestsPerMinute;
}
