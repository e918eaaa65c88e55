import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { MessageNetwork } from '../../contract/messages.ts';
import { transportOf } from '../../contract/messages.ts';
import { createSimulatorAdmin } from '../../simulator/admin-client.ts';
import { loadSamplePatients } from '../../simulator/samples.ts';
import { UsageError } from '../errors.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { renderTable } from '../table.ts';
import type { Target } from '../target/target.ts';
import { facilityOf } from '../target/target.ts';
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
  /** The transport partner's id of the message: the same again is the same message. */
  id?: string;
  times: number;
}

/** Has the simulated transport partner of the running stack bring a message; how the exchange answered each time. */
export async function messagesSimulate(
  options: MessagesSimulateOptions,
  { target }: CommandContext,
): Promise<CommandResult> {
  if (target.stack === undefined)
    throw new UsageError('Only a running stack has a simulator; leave --base-url out.');
  const patient = options.sample === undefined ? undefined : personOf(options.sample);
  const attachments = await Promise.all((options.attachFile ?? []).map(readAttachment));
  const destination = options.to ?? (await oidOfFacility(target));
  const network = options.network ?? (transportOf(destination) === 'xdr' ? 'CAREQUALITY' : undefined);
  const message = {
    messageId: options.id ?? `simulated-${randomUUID()}`,
    ...{ destination, network, subject: options.subject, body: options.body },
    ...{ intendedRecipientNpi: options.npi, patient, attachments },
  };
  const { simulatorUrl, simulatorAdminToken } = target.stack.connection;
  const simulator = createSimulatorAdmin(simulatorUrl, simulatorAdminToken);
  const statuses: number[] = [];
  for (let times = 0; times < options.times; times += 1)
    statuses.push(await simulator.deliverMessage(message));
  const rows = statuses.map((status) => [message.messageId, String(status), MEANINGS[status] ?? '']);
  return {
    exitCode: exitOf(statuses),
    lines: renderTable(['message of the partner', 'status', 'answer'], rows),
    document: {
      command: 'messages simulate',
      ...{ messageId: message.messageId, destination, statuses, attachments: attachments.length },
    },
  };
}

const MEANINGS: Readonly<Record<number, string>> = {
  0: 'the exchange did not answer',
  200: 'taken',
  400: 'not readable as a message',
  401: 'the signature is not that of the transport partner',
  404: 'nobody receives there',
  409: 'several accounts receive there',
  413: 'larger than what is taken',
  422: 'an attachment is not one that is taken',
};

function exitOf(statuses: readonly number[]): ExitCode {
  const worst = statuses.find((status) => status !== 200);
  if (worst === undefined) return EXIT.done;
  return worst >= 400 && worst < 500 ? EXIT.refused : EXIT.error;
}

/** As the sender's side describes the person. Throws UsageError. */
function personOf(key: string) {
  const samples = loadSamplePatients();
  const sample = samples.find((known) => known.key === key);
  if (sample === undefined)
    throw new UsageError(
      `No sample is called ${key}. There are:\n${samples.map((known) => `  ${known.key}`).join('\n')}`,
    );
  const { firstName, lastName, dob, genderAtBirth, address } = sample.createBody;
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
  const content = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be read (${error.code ?? 'unknown reason'}).`);
  });
  const extension = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return {
    fileName: basename(path),
    contentType: TYPES[extension] ?? 'application/octet-stream',
    content: content.toString('base64'),
  };
}

/** By XDR an account receives at its facilities. Throws UsageError. */
async function oidOfFacility(target: Target): Promise<string> {
  const facilityId = await facilityOf(target);
  const { answer } = await target.exchange.call('listFacilities', {});
  const oid = answer.facilities.find(({ id }) => id === facilityId)?.oid;
  if (oid !== undefined) return oid;
  throw new UsageError('The facility has no OID that is known; give --to.');
}
