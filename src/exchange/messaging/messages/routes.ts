import { v7 as uuidv7 } from 'uuid';
import {
  MESSAGE_ATTACHMENT_BYTES_MAX,
  MESSAGES_PER_MINUTE,
  type MessageRequest,
  type TransportMethod,
  transportOf,
} from '../../../contract/messages.ts';
import { findPatient } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import {
  ExchangeError,
  InvalidRequestError,
  orNotFound,
} from '../../platform/errors.ts';
import type { Caller } from '../../platform/http/caller.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import { openPage } from '../../platform/http/paging.ts';
import {
  countStart,
  type StartLimit,
} from '../../platform/limits/limit-store.ts';
import { connectionForMessages } from '../../sources/connections/submissions.ts';
import { findMailbox } from './direct/mailbox-store.ts';
import type { MessageLauncher } from './launcher.ts';
import {
  documentsOfPatient,
  findMessage,
  insertMessage,
  listMessages,
  MESSAGE_ORDER,
  serializeMessage,
} from './message-store.ts';

/** E12 and the operations around it. */
export function addMessageRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'publicBaseUrl' | 'linkSigningKey'> & {
    messages: Pick<MessageLauncher, 'launch'>;
  },
): void {
  operations.read('listMessages', async (tx, { query }) => {
    const { direction, patientId, destination, status } = query;
    const opened = openPage(deps, 'listMessages', { query }, MESSAGE_ORDER);
    const filter = { direction, patientId, destination, status };
    const page = await listMessages(tx, filter, opened.request);
    return ok({
      messages: page.items.map(serializeMessage),
      meta: opened.meta(page),
    });
  });

  operations.read('getMessage', async (tx, { params }) =>
    ok(
      serializeMessage(orNotFound('Message', await findMessage(tx, params.id))),
    ),
  );

  operations.write('sendMessage', async (tx, { query, body, caller }) => {
    await countStart(tx, limitOf(caller));
    const patient = orNotFound(
      'Patient',
      await findPatient(tx, query.patientId),
    );
    const transport = transportFor(body);
    if (!(await hasWayOut(tx, transport)))
      throw new ExchangeError(503, NO_TRANSPORT[transport.transportMethod]);
    const attachments = body.attachments ?? [];
    await checkAttachments(tx, patient.id, attachments);
    const message = await insertMessage(tx, {
      id: uuidv7(),
      patientId: patient.id,
      direction: 'outbound',
      status: 'processing',
      ...transport,
      subject: body.subject,
      body: body.body ?? null,
      attachments,
      intendedRecipientNpi: body.intendedRecipientNpi ?? [],
    });
    if (message === undefined)
      throw new Error('A message with a new id already exists');
    const { accountId } = tx;
    return ok(serializeMessage(message), {
      patientId: patient.id,
      targetId: message.id,
      afterCommit: () => deps.messages.launch(accountId, message.id),
    });
  });
}

const NO_TRANSPORT = {
  xdr: 'Messages to OIDs cannot be sent: no connection of this account takes messages for the network; ask the operator of this service',
  direct:
    'Messages to Direct addresses cannot be sent: this account has no Direct mailbox; ask the operator of this service',
} as const satisfies Record<TransportMethod, string>;

async function hasWayOut(
  tx: AccountTx,
  { network }: ReturnType<typeof transportFor>,
): Promise<boolean> {
  if (network === null)
    return (await findMailbox(tx, tx.accountId)) !== undefined;
  return (await connectionForMessages(tx, network)) !== undefined;
}

/**
 * Transport method and network of a message, from its destination; the default
 * network for XDR is Carequality.
 */
function transportFor({ destination, network }: MessageRequest) {
  const transportMethod = transportOf(destination);
  if (transportMethod === undefined)
    throw new Error(
      'A destination that passed validation has no transport method',
    );
  return {
    destination,
    transportMethod,
    network:
      transportMethod === 'xdr' ? (network ?? ('CAREQUALITY' as const)) : null,
  };
}

/**
 * Throws InvalidRequestError unless every attachment is a document of the
 * patient and they are small enough together. Another patient's document is
 * reported like one that does not exist.
 */
async function checkAttachments(
  tx: AccountTx,
  patientId: string,
  ids: readonly string[],
): Promise<void> {
  const documents = await documentsOfPatient(tx, patientId, ids);
  const known = new Set(documents.map(({ id }) => id));
  const unknown = ids.flatMap((id, index) =>
    known.has(id)
      ? []
      : [
          {
            path: `attachments[${index}]`,
            message: 'is not a document of this patient',
          },
        ],
  );
  if (unknown.length > 0) throw new InvalidRequestError(unknown);
  const sizeBytes = documents.reduce(
    (sum, document) => sum + document.sizeBytes,
    0,
  );
  if (sizeBytes <= MESSAGE_ATTACHMENT_BYTES_MAX) return;
  const message = `have ${sizeBytes} bytes in total, at most ${MESSAGE_ATTACHMENT_BYTES_MAX} are accepted; send several messages`;
  throw new InvalidRequestError([{ path: 'attachments', message }]);
}

const limitOf = ({ account }: Caller): StartLimit => ({
  name: 'message',
  what: 'messages',
  perMinute: account.settings.limits?.messagesPerMinute ?? MESSAGES_PER_MINUTE,
});
