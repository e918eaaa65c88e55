import type { MESSAGE_SORT, MessageDirection, MessageStatus } from '../../contract/messages.ts';
import { utcCell } from '../../lib/utc-time.ts';
import { EXIT } from '../exit-codes.ts';
import { plainText } from '../progress/plain-text.ts';
import { coloured } from '../progress/rows.ts';
import { renderTable } from '../table.ts';
import { patientNames } from '../target/patient-names.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';

export interface MessagesListOptions extends CommonOptions {
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

/** Lists one page of messages (docs/interface.md, "E12. List messages") with the cursors of the neighbouring pages. */
export async function messagesList(
  { direction, patient, destination, status, sort, count, fromItem, toItem }: MessagesListOptions,
  { target, terminal }: CommandContext,
): Promise<CommandResult> {
  const { answer } = await target.exchange.call('listMessages', {
    query: { direction, patientId: patient, destination, status, sort, count, fromItem, toItem },
  });
  const { messages, meta } = answer;
  const { colors } = terminal.live;
  const ids = messages.map(({ patientId }) => patientId);
  const names = await patientNames(target.exchange, ids);
  const rows = messages.map((message) => [
    ...[message.id, message.direction, coloured(message.status, colors), utcCell(message.sentAt)],
    ...[plainText(message.destination), message.patientId ?? '', names.get(message.patientId ?? '') ?? ''],
    ...[String(message.attachments?.length ?? 0), plainText(message.subject)],
  ]);
  const next = cursorOf(meta.nextPage, 'fromItem');
  const previous = cursorOf(meta.prevPage, 'toItem');
  return {
    exitCode: EXIT.done,
    lines: [
      ...(rows.length === 0 ? ['No messages found.'] : renderTable(HEAD, rows)),
      '',
      `${messages.length} of ${meta.itemsInTotal ?? 'an unknown number of'} messages.`,
      ...(next === undefined ? [] : [`Next page: --from-item ${next}`]),
      ...(previous === undefined ? [] : [`Previous page: --to-item ${previous}`]),
    ],
    document: {
      command: 'messages list',
      messages,
      itemsInTotal: meta.itemsInTotal,
      fromItem: next,
      toItem: previous,
    },
  };
}

function cursorOf(page: string | null | undefined, name: 'fromItem' | 'toItem'): string | undefined {
  if (page == null || !URL.canParse(page)) return undefined;
  return new URL(page).searchParams.get(name) ?? undefined;
}
