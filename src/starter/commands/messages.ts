import { randomUUID } from 'node:crypto';
import type {
  MESSAGE_SORT,
  MessageDirection,
  MessageNetwork,
  MessageStatus,
} from '../../contract/messages.ts';
import { messageTransmissionWorkflowId } from '../../contract/temporal.ts';
import { EXIT, type ExitCode } from '../../lib/exit-codes.ts';
import { renderTable } from '../../lib/table.ts';
import { utcCell } from '../../lib/time.ts';
import type { ResponseOf } from '../../orchestrator/client/responses.ts';
import { workflowLink } from '../../temporal/ui-links.ts';
import { terminalText } from '../progress/plain-text.ts';
import { pollExchange } from '../progress/poll-exchange.ts';
import { coloured } from '../progress/rows.ts';
import { patientNames } from '../target/simulated-person.ts';
import { type CommandResult, unfinishedExit } from '../terminal.ts';
import {
  type CommandContext,
  endOfFollowing,
  type FollowingOptions,
  type StarterCommand,
  type StarterCommandOptions,
} from './command.ts';

/** Shows one message with its text. */
export const messagesShow: StarterCommand<
  [string, StarterCommandOptions]
> = async (messageId, _options, context) => {
  const { answer } = await context.target.exchange.call('getMessage', {
    params: { id: messageId },
  });
  return {
    exitCode: EXIT.done,
    ...messageResult('messages show', answer, context),
  };
};

interface MessagesListOptions extends StarterCommandOptions {
  direction?: MessageDirection;
  patient?: string;
  destination?: string;
  status?: MessageStatus;
  sort?: `${(typeof MESSAGE_SORT)[number]}=${'asc' | 'desc'}`;
  count: number;
  /** Cursors that an earlier page printed. */
  fromItem?: string;
  toItem?: string;
}

type MessageResponse = ResponseOf<'getMessage'>;

const HEAD = [
  'message',
  'direction',
  'status',
  'sent (UTC)',
  'destination',
  'patient',
  'name',
  'files',
  'subject',
];

/**
 * Lists one page of messages (docs/interface.md, "E12. List messages") with the
 * cursors of the neighbouring pages.
 */
export const messagesList: StarterCommand<[MessagesListOptions]> = async (
  { direction, patient, destination, status, sort, count, fromItem, toItem },
  { target, terminal },
) => {
  const { answer } = await target.exchange.call('listMessages', {
    query: {
      direction,
      patientId: patient,
      destination,
      status,
      sort,
      count,
      fromItem,
      toItem,
    },
  });
  const { messages, meta } = answer;
  const { colors } = terminal.live;
  const ids = messages.map(({ patientId }) => patientId);
  const names = await patientNames(target.exchange, ids);
  const rows = messages.map((message) => [
    message.id,
    message.direction,
    coloured(message.status, colors),
    utcCell(message.sentAt),
    terminalText(message.destination),
    message.patientId ?? '',
    names.get(message.patientId ?? '') ?? '',
    String(message.attachments?.length ?? 0),
    terminalText(message.subject),
  ]);
  const next = cursorOf(meta.nextPage, 'fromItem');
  const previous = cursorOf(meta.prevPage, 'toItem');
  return {
    lines: [
      ...(rows.length === 0 ? ['No messages found.'] : renderTable(HEAD, rows)),
      '',
      `${messages.length} of ${meta.itemsInTotalIsMinimum === true ? 'more than ' : ''}${meta.itemsInTotal ?? 'an unknown number of'} messages.`,
      ...(next === undefined ? [] : [`Next page: --from-item ${next}`]),
      ...(previous === undefined
        ? []
        : [`Previous page: --to-item ${previous}`]),
    ],
    document: {
      command: 'messages list',
      messages,
      itemsInTotal: meta.itemsInTotal,
      fromItem: next,
      toItem: previous,
    },
  };
};

function cursorOf(
  page: string | null | undefined,
  name: 'fromItem' | 'toItem',
): string | undefined {
  if (page == null || !URL.canParse(page)) return undefined;
  return new URL(page).searchParams.get(name) ?? undefined;
}

export interface MessagesSendOptions extends FollowingOptions {
  to: string;
  subject: string;
  body?: string;
  attach?: string[];
  npi?: string[];
  network?: MessageNetwork;
}

/**
 * Sends a message about a patient, and follows its transmission until it ends.
 */
export const messagesSend: StarterCommand<
  [string, MessagesSendOptions]
> = async (
  patientId,
  { to, subject, body, attach, npi, network, wait, timeout },
  context,
) => {
  const { target, terminal } = context;
  const { answer: sent } = await target.exchange.call(
    'sendMessage',
    {
      query: { patientId },
      body: {
        destination: to,
        subject,
        body,
        attachments: attach,
        intendedRecipientNpi: npi,
        network,
      },
    },
    { idempotencyKey: randomUUID() },
  );
  if (!wait)
    return {
      exitCode: EXIT.done,
      ...messageResult('messages send', sent, context),
    };
  const { live } = terminal;
  const message = await pollExchange(
    sent,
    async (signal) =>
      (
        await target.exchange.call(
          'getMessage',
          { params: { id: sent.id } },
          { signal },
        )
      ).answer,
    {
      isRunning: ({ status }) => status === 'processing',
      onChange: ({ status }, problem) =>
        live.set(`message ${sent.id}`, [
          `${coloured(status, live.colors)}${problem === undefined ? '' : ` (${problem})`}`,
        ]),
      signal: endOfFollowing(terminal, { timeout }),
    },
  );
  const result = messageResult('messages send', message, context);
  const exitCode = exitOfMessage(message, terminal.interrupted);
  const later = `The transmission continues without this terminal. Check on it with: npm run starter -- messages show ${sent.id}`;
  return {
    exitCode,
    ...result,
    lines:
      message.status === 'processing'
        ? [...result.lines, '', later]
        : result.lines,
  };
};

/**
 * Result of a command about one message: its fields, its text, and the link to
 * its transmission in the Temporal UI.
 */
function messageResult(
  command: string,
  message: MessageResponse,
  { target, terminal }: CommandContext,
): Pick<CommandResult, 'lines' | 'document'> {
  const isOut = message.direction === 'outbound';
  const workflowId = messageTransmissionWorkflowId(message.id);
  const workflowUrl = isOut ? workflowLink(target.ui, workflowId) : undefined;
  const way = [message.transportMethod, message.network]
    .filter(Boolean)
    .join(', ');
  const fields: readonly (readonly [string, string | null | undefined])[] = [
    [
      'Patient',
      message.patientId ??
        (isOut ? undefined : 'no patient of this account matches'),
    ],
    [
      isOut ? 'To' : 'At',
      `${terminalText(message.destination)}${way === '' ? '' : ` (${way})`}`,
    ],
    ['Recipients', message.intendedRecipientNpi?.join(', ')],
    ['Subject', terminalText(message.subject)],
    ['Attachments', message.attachments?.join(', ')],
    ['Sent', message.sentAt],
    ['Changed', message.updatedAt],
    ['Temporal UI', workflowUrl],
  ];
  const why = message.reason == null ? '' : `, ${terminalText(message.reason)}`;
  return {
    lines: [
      `Message ${message.id}: ${message.direction}, ${coloured(message.status, terminal.live.colors)}${why}`,
      ...fields.flatMap(([name, value]) =>
        value ? [`  ${`${name}:`.padEnd(13)}${value}`] : [],
      ),
      // Line by line without control characters: the text comes from outside
      // and must not steer the terminal.
      ...(message.body == null
        ? []
        : ['', ...message.body.split(/\r?\n/).map(wholeLine)]),
    ],
    document: { command, message, workflowUrl },
  };
}

const wholeLine = (line: string): string => line.replaceAll(/\p{Cc}/gu, ' ');

/** Exit code of a command that sent a message. */
function exitOfMessage(
  { status }: MessageResponse,
  interrupted: AbortSignal,
): ExitCode {
  if (status === 'completed') return EXIT.done;
  return status === 'failed' ? EXIT.failed : unfinishedExit(interrupted);
}
