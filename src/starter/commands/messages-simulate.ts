import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { createSimulatorAdmin } from '../../../tools/simulator/admin-client.ts';
import type { MessageNetwork } from '../../contract/messages.ts';
import { transportOf } from '../../contract/messages.ts';
import { UsageError } from '../errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { findSample } from '../input/patients.ts';
import { readInputFile } from '../input/read-input-file.ts';
import { renderTable } from '../table.ts';
import { facilityOf, requireStack, type Target } from '../target/target.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';

export interface MessagesSimulateOptions extends CommonOptions {
  to?: string;
  sample?: string;
  subject: string;
  body?: string;
  attachFile?: string[];
  network?: MessageNetwork;
  npi?: string[];
  /** The transport partner's id of the message; the same id always means the same message. */
  id?: string;
  times: number;
}

/**
 * Makes the stack's simulated transport partner deliver a message to the exchange, and reports the response to each
 * delivery. Throws UsageError.
 */
export async function messagesSimulate(
  options: MessagesSimulateOptions,
  { target }: CommandContext,
): Promise<CommandResult> {
  const { connection } = requireStack(target);
  const patient = options.sample === undefined ? undefined : personOf(options.sample);
  const attachments = await Promise.all((options.attachFile ?? []).map(readAttachment));
  const destination = options.to ?? (await oidOfFacility(target));
  const network = options.network ?? (transportOf(destination) === 'xdr' ? 'CAREQUALITY' : undefined);
  const message = {
    messageId: options.id ?? `simulated-${randomUUID()}`,
    ...{ destination, network, subject: options.subject, body: options.body },
    ...{ intendedRecipientNpi: options.npi, patient, attachments },
  };
  const simulator = createSimulatorAdmin(connection.simulatorUrl, connection.simulatorAdminToken);
  const statuses: number[] = [];
  for (let times = 0; times < options.times; times += 1)
    statuses.push(await simulator.deliverMessage(message));
  const rows = statuses.map((status) => [message.messageId, String(status), MEANINGS[status] ?? '']);
  return {
    exitCode: exitOf(statuses),
    lines: [
      ...renderTable(["partner's message id", 'status', 'response'], rows),
      ...(statuses.includes(200)
        ? ['', 'See it with: npm run starter -- messages list --direction inbound']
        : []),
    ],
    document: {
      command: 'messages simulate',
      ...{ messageId: message.messageId, destination, statuses, attachments: attachments.length },
    },
  };
}

const MEANINGS: Readonly<Record<number, string>> = {
  0: 'no response from the exchange',
  200: 'accepted',
  400: 'not a valid message',
  401: "the signature is not the transport partner's",
  404: 'no account receives messages at this address',
  409: 'several accounts receive messages at this address',
  413: 'the message is too large',
  422: 'an attachment is of a type that is not accepted',
};

function exitOf(statuses: readonly number[]): ExitCode {
  const worst = statuses.find((status) => status !== 200);
  if (worst === undefined) return EXIT.done;
  return worst >= 400 && worst < 500 ? EXIT.refused : EXIT.error;
}

/** The sample patient as the sending side describes a patient. Throws UsageError. */
function personOf(key: string) {
  const { firstName, lastName, dob, genderAtBirth, address } = findSample(key).createBody;
  return {
    ...{ firstNames: [firstName], lastNames: [lastName], dob, gender: genderAtBirth },
    zip: address[0]?.zip ?? '',
  };
}

const TYPES: Readonly<Record<string, string>> = {
  ...{ xml: 'application/xml', pdf: 'application/pdf', txt: 'text/plain', html: 'text/html' },
  ...{ json: 'application/json', jpg: 'image/jpeg', jpeg: 'image/jpeg', png: 'image/png' },
};

/** Throws UsageError. */
async function readAttachment(path: string) {
  const content = await readInputFile(path);
  const extension = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return {
    fileName: basename(path),
    contentType: TYPES[extension] ?? 'application/octet-stream',
    content: content.toString('base64'),
  };
}

/** The facility's OID: an account receives XDR messages at the OIDs of its facilities. Throws UsageError. */
async function oidOfFacility(target: Target): Promise<string> {
  const facilityId = await facilityOf(target);
  const { answer } = await target.exchange.call('listFacilities', {});
  const oid = answer.facilities.find(({ id }) => id === facilityId)?.oid;
  if (oid !== undefined) return oid;
  throw new UsageError('The facility has no OID. Pass the destination as --to.');
}
