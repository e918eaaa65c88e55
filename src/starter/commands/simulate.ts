import { randomUUID } from 'node:crypto';
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type TransportMethod, transportOf } from '../../contract/messages.ts';
import type { SourceType } from '../../contract/primitives.ts';
import { EXIT } from '../../lib/exit-codes.ts';
import { lookupTable } from '../../lib/lookup-table.ts';
import { renderTable } from '../../lib/table.ts';
import { readTlsFolder } from '../../lib/tls-folder.ts';
import { createSimulatorClient } from '../../local-stack/simulator/client.ts';
import type {
  CountedRule,
  Fault,
  FaultRuleInput,
} from '../../local-stack/simulator/faults.ts';
import {
  type DocumentTrouble,
  type LetterInput,
  SIMULATED_MAILBOX,
} from '../../local-stack/simulator/letters.ts';
import type { GatewayNetwork } from '../../local-stack/simulator/network.ts';
import { UsageError } from '../errors.ts';
import { readInputFile } from '../input/panel-file.ts';
import { findSample } from '../input/patients.ts';
import { requireStack } from '../target/target.ts';
import type { CommandResult } from '../terminal.ts';
import type {
  CommandContext,
  StarterCommand,
  StarterCommandOptions,
} from './command.ts';
import type { MessagesSendOptions } from './messages.ts';

/**
 * What a source of the stack's simulator can be made to do; the simulator
 * checks each fault that it is sent.
 */
export const TROUBLES = {
  slow: {
    help: 'answers every request 20 seconds late',
    fault: { type: 'latency', ms: 20000 },
  },
  down: {
    help: 'answers every request with 503',
    fault: { type: 'status', status: 503 },
  },
  'refuses-us': {
    help: 'refuses our credentials with 401, as after an expired secret',
    fault: { type: 'status', status: 401 },
  },
  'refuses-patient': {
    help: 'refuses the patient with 403: there is no consent',
    fault: { type: 'status', status: 403, code: 'suppressed' },
  },
  'unknown-patient': {
    help: 'does not know the patient',
    fault: { type: 'unknown-patient' },
  },
  'failing-job': {
    help: 'accepts a request, then fails it',
    fault: { type: 'job-fails' },
  },
  'endless-job': {
    help: 'accepts a request and never finishes it',
    fault: { type: 'job-never-ends' },
  },
  'lost-callback': {
    help: 'never calls back; the exchange polls',
    fault: { type: 'no-callback' },
  },
  'doubled-callback': {
    help: 'calls back twice',
    fault: { type: 'doubled-callback' },
  },
  late: {
    help: 'answers every request 150 seconds late',
    fault: { type: 'latency', ms: 150000 },
  },
  busy: {
    help: 'its IHE gateway is busy',
    fault: { type: 'gateway', trouble: 'busy' },
  },
  partial: {
    help: 'its IHE gateway leaves documents out, and says so',
    fault: { type: 'gateway', trouble: 'partial' },
  },
  'one-of-ten': {
    help: 'its IHE gateway hands out one document of those asked for, and says nothing',
    fault: { type: 'gateway', trouble: 'one-of-ten' },
  },
  stranger: {
    help: 'its IHE gateway hands out a document that nobody asked for',
    fault: { type: 'gateway', trouble: 'stranger' },
  },
  html: {
    help: 'its IHE gateway answers with a page',
    fault: { type: 'gateway', trouble: 'html' },
  },
  empty: {
    help: 'its IHE gateway answers with nothing',
    fault: { type: 'gateway', trouble: 'empty' },
  },
  fault: {
    help: 'its IHE gateway answers with a SOAP fault',
    fault: { type: 'gateway', trouble: 'fault' },
  },
  cut: {
    help: 'its IHE gateway answers with half a message',
    fault: { type: 'gateway', trouble: 'cut' },
  },
  'wrong-home': {
    help: 'its IHE gateway lists documents of another home community',
    fault: { type: 'gateway', trouble: 'wrong-home' },
  },
  candidates: {
    help: 'its IHE gateway finds two candidates',
    fault: { type: 'gateway', trouble: 'candidates' },
  },
  communities: {
    help: 'its IHE gateway finds the patient in two communities',
    fault: { type: 'gateway', trouble: 'communities' },
  },
  'more-attributes': {
    help: 'its IHE gateway asks for address and telephone first',
    fault: { type: 'gateway', trouble: 'more-attributes' },
  },
  'query-error': {
    help: 'its IHE gateway accepts a question, and fails it',
    fault: { type: 'gateway', trouble: 'query-error' },
  },
} as const satisfies Readonly<
  Record<string, { help: string; fault: FaultRuleInput['fault'] }>
>;
export type Trouble = keyof typeof TROUBLES;

export const TROUBLE_NAMES = Object.keys(TROUBLES) as Trouble[];

/** What each trouble is, for help texts. */
export const BEHAVIOURS = Object.entries(TROUBLES)
  .map(([name, { help }]) => `${name}: ${help}`)
  .join('; ');

export interface SimulateOptions extends StarterCommandOptions {
  sample?: string;
  times?: number;
}

/**
 * Makes a source of the stack's simulator misbehave. It replaces what the same
 * source (and sample) was made to do before. Throws UsageError.
 */
export const simulateSet: StarterCommand<
  [SourceType, Trouble, SimulateOptions]
> = async (source, trouble, { sample, times }, { target }) => {
  if (sample !== undefined) findSample(sample);
  const { fault } = TROUBLES[trouble];
  if (fault.type === 'gateway' && source !== 'hie')
    throw new UsageError('Only hie has an IHE gateway.');
  const admin = adminOf(target);
  const others = (await admin.rules()).filter(
    (rule) => rule.source !== source || rule.sample !== sample,
  );
  await admin.setRules([
    { source, sample, times, fault },
    ...others.flatMap(remaining),
  ]);
  return report('simulate set', await admin.rules(), [
    '',
    'End it with: npm run starter -- simulate clear',
  ]);
};

/**
 * Lists what the sources are made to do, and how often they did it. Throws
 * UsageError.
 */
export const simulateList: StarterCommand<[StarterCommandOptions]> = async (
  _options,
  { target },
) => {
  return report('simulate list', await adminOf(target).rules());
};

/** Makes all sources behave again. Throws UsageError. */
export const simulateClear: StarterCommand<[StarterCommandOptions]> = async (
  _options,
  { target },
) => {
  await adminOf(target).clearRules();
  return report('simulate clear', []);
};

interface SimulateAskOptions extends StarterCommandOptions {
  sample: string;
}

/**
 * Has the stack's simulated gateway ask the exchange for a sample patient, as
 * another member of a network. Throws UsageError.
 */
export const simulateAsk: StarterCommand<[SimulateAskOptions]> = async (
  { sample },
  { target },
) => {
  findSample(sample);
  const { accountId } = requireStack(target).connection;
  const network = await networkOf(target);
  const asked = await adminOf(target).askGateway(network, sample);
  const rows = asked.documents.map((document) => [
    document.title ?? '',
    document.mimeType ?? '',
    String(document.sizeBytes ?? 'did not come'),
    document.isAsListed ? 'as listed' : 'other bytes than listed',
  ]);
  return {
    exitCode: asked.patientId === undefined ? EXIT.refused : EXIT.done,
    lines: [
      `Patient discovery (ITI-55): ${asked.discovery}${asked.patientId === undefined ? '' : ` ${asked.patientId}`}`,
      ...(asked.patientId === undefined
        ? [
            'Networks are given only what an account contributed about a patient: docs/networks.md, "Try it without a contract".',
          ]
        : [
            `Documents (ITI-38, ITI-39): ${rows.length}`,
            ...renderTable(['title', 'type', 'bytes', 'SHA-1'], rows),
            '',
            `See who was given what: npm run admin -- disclosures report --account ${accountId} --patient ${asked.patientId}`,
          ]),
      ...asked.problems.map((code) => `It said: ${code}`),
    ],
    document: { command: 'simulate ask', ...asked },
  };
};

function adminOf(target: CommandContext['target']) {
  const { simulatorUrl, simulatorAdminToken } = requireStack(target).connection;
  return createSimulatorClient(simulatorUrl, simulatorAdminToken);
}

/**
 * The rule as it still applies: setting rules anew starts their counts at zero.
 */
function remaining({ applied, times, ...rule }: CountedRule): FaultRuleInput[] {
  if (times === undefined) return [rule];
  return times > applied ? [{ ...rule, times: times - applied }] : [];
}

function report(
  command: string,
  rules: readonly CountedRule[],
  more: readonly string[] = [],
): CommandResult {
  const rows = rules.map(({ source, sample, fault, applied, times }) => [
    source ?? 'all',
    sample ?? 'all',
    troubleName(fault),
    String(applied),
    times === undefined ? '' : String(times),
  ]);
  const head = ['source', 'sample patient', 'behaviour', 'applied', 'at most'];
  return {
    lines:
      rows.length === 0
        ? ['All sources behave.']
        : [...renderTable(head, rows), ...more],
    document: { command, rules },
  };
}

/**
 * The name of a fault on the command line; the simulator's own name for faults
 * that a test or the demo has set.
 */
const troubleName = (fault: Fault): string =>
  Object.entries(TROUBLES).find(([, known]) =>
    isDeepStrictEqual({ ...fault, ...known.fault }, fault),
  )?.[0] ?? fault.type;

interface MessagesSimulateOptions
  extends StarterCommandOptions,
    Pick<MessagesSendOptions, 'subject' | 'body'> {
  by: TransportMethod;
  to?: string;
  from: string;
  sample?: string;
  attachFile?: string[];
  package?: boolean;
  /** What is wrong with its documents. */
  as?: DocumentTrouble;
  /** The sender's id of the message; the same id is the same message. */
  id?: string;
  times: number;
}

/**
 * Has another provider send a message to the stack's account, by Direct or by
 * XDR. Throws UsageError.
 */
export const messagesSimulate: StarterCommand<
  [MessagesSimulateOptions]
> = async (options, { target }) => {
  const message = {
    messageId: options.id ?? `${randomUUID()}@direct.simulated.example`,
    subject: options.subject,
    body: options.body ?? '',
    patient:
      options.sample === undefined ? undefined : personOf(options.sample),
    attachments: await Promise.all(
      (options.attachFile ?? []).map(readAttachment),
    ),
    trouble: options.as,
  };
  return options.by === 'xdr'
    ? simulateSubmission(message, options, target)
    : simulateLetter(message, options, target);
};

type SimulatedMessage = Pick<
  LetterInput,
  'messageId' | 'subject' | 'body' | 'patient' | 'attachments' | 'trouble'
>;

const SEE_IT =
  'See it with: npm run starter -- messages list --direction inbound';

/** The simulator puts it into the account's mailbox, which the exchange reads. */
async function simulateLetter(
  message: SimulatedMessage,
  options: MessagesSimulateOptions,
  target: CommandContext['target'],
): Promise<CommandResult> {
  const { to = SIMULATED_MAILBOX.address, from, times, as } = options;
  const isPackage = options.package ?? false;
  if (transportOf(to) !== 'direct')
    throw new UsageError('--to must be a Direct address.');
  if (as !== undefined && !isPackage)
    throw new UsageError('--as needs --package, or --by xdr.');
  if (isPackage && message.attachments.length === 0)
    throw new UsageError('--package needs --attach-file.');
  await adminOf(target).deliverLetter({
    ...message,
    from,
    to,
    isPackage,
    times,
  });
  return {
    lines: [
      `The message ${message.messageId} is in the mailbox${times === 1 ? '' : `, ${times} times`}, which the exchange reads every 15 seconds.`,
      '',
      SEE_IT,
    ],
    document: {
      command: 'messages simulate',
      messageId: message.messageId,
      destination: to,
      times,
      attachments: message.attachments.length,
    },
  };
}

/** The simulator sends it to the stack's gateway, as a member of its network. */
async function simulateSubmission(
  message: SimulatedMessage,
  options: MessagesSimulateOptions,
  target: CommandContext['target'],
): Promise<CommandResult> {
  const { to = await ownOid(target), times, as } = options;
  if (transportOf(to) !== 'xdr')
    throw new UsageError('With --by xdr, --to must be an OID.');
  if (options.package || as === 'damaged')
    throw new UsageError('--package and --as damaged are for --by direct.');
  const network = await networkOf(target);
  const said = [];
  for (let at = 0; at < times; at += 1)
    said.push(await adminOf(target).submit({ ...message, network, to }));
  const isTaken = said.every(({ outcome }) => outcome === 'accepted');
  return {
    exitCode: isTaken ? EXIT.done : EXIT.refused,
    lines: [
      ...said.flatMap(({ outcome, problems }) => [
        `The exchange answered the submission (ITI-41): ${outcome}`,
        ...problems.map(({ code, reason }) => `It said: ${code} (${reason})`),
      ]),
      ...(isTaken ? ['', SEE_IT] : []),
    ],
    document: {
      command: 'messages simulate',
      messageId: message.messageId,
      destination: to,
      answers: said,
    },
  };
}

/** The OID of the facility of the stack's account. Throws UsageError. */
async function ownOid(target: CommandContext['target']): Promise<string> {
  const { facilityId } = requireStack(target).connection;
  const { answer } = await target.exchange.call('getFacility', {
    params: { id: facilityId },
  });
  return answer.oid;
}

/** The stack's network, and who the simulator is in it. Throws UsageError. */
async function networkOf(
  target: CommandContext['target'],
): Promise<GatewayNetwork> {
  const { network } = requireStack(target).connection;
  if (network === undefined)
    throw new UsageError('This stack is not a member of a network.');
  const { cert, key, clientAuthorities } = await readTlsFolder(
    network.member,
    'network',
  );
  return {
    address: network.address,
    certificate: cert,
    privateKey: key,
    authority: clientAuthorities ?? '',
  };
}

/** The sample patient as a Direct message describes one. Throws UsageError. */
function personOf(key: string): Record<string, string> {
  const { firstName, lastName, dob, genderAtBirth, address } =
    findSample(key).createBody;
  const [home] = address;
  return {
    givenName: firstName,
    surname: lastName,
    dateOfBirth: dob,
    gender: genderAtBirth,
    ...(home && {
      streetAddress: home.addressLine1,
      localityName: home.city,
      stateOrProvinceName: home.state,
      postalCode: home.zip,
    }),
  };
}

const TYPES: Readonly<Record<string, string>> = lookupTable({
  xml: 'application/xml',
  pdf: 'application/pdf',
  txt: 'text/plain',
  html: 'text/html',
  json: 'application/json',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
});

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
