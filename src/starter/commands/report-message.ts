import { messageTransmissionWorkflowId } from '../../contract/temporal.ts';
import type { MessageResponse } from '../../orchestrator/client/answers.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { workflowLink } from '../links.ts';
import { plainText } from '../progress/plain-text.ts';
import { coloured } from '../progress/rows.ts';
import type { CommandResult } from '../terminal.ts';
import { unfinishedExit } from '../terminal.ts';
import type { CommandContext } from './command.ts';

/** Result of a command about one message: its fields, its text, and the link to its transmission in the Temporal UI. */
export function messageResult(
  command: string,
  message: MessageResponse,
  { target, terminal }: CommandContext,
): Pick<CommandResult, 'lines' | 'document'> {
  const isOut = message.direction === 'outbound';
  const workflowId = messageTransmissionWorkflowId(message.id);
  const workflowUrl = isOut && target.ui !== undefined ? workflowLink(target.ui, workflowId) : undefined;
  const way = [message.transportMethod, message.network].filter(Boolean).join(', ');
  const fields: readonly (readonly [string, string | null | undefined])[] = [
    ['Patient', message.patientId ?? (isOut ? undefined : 'no patient of this account matches')],
    [isOut ? 'To' : 'At', `${plainText(message.destination)}${way === '' ? '' : ` (${way})`}`],
    ['Recipients', message.intendedRecipientNpi?.join(', ')],
    ['Subject', plainText(message.subject)],
    ['Attachments', message.attachments?.join(', ')],
    ['Sent', message.sentAt],
    ['Changed', message.updatedAt],
    ['Temporal UI', workflowUrl],
  ];
  const why = message.reason == null ? '' : `, ${plainText(message.reason)}`;
  return {
    lines: [
      `Message ${message.id}: ${message.direction}, ${coloured(message.status, terminal.live.colors)}${why}`,
      ...fields.flatMap(([name, value]) => (value ? [`  ${`${name}:`.padEnd(13)}${value}`] : [])),
      // Line by line without control characters: the text comes from outside and must not steer the terminal.
      ...(message.body == null ? [] : ['', ...message.body.split(/\r?\n/).map(wholeLine)]),
    ],
    document: { command, message, workflowUrl },
  };
}

const wholeLine = (line: string): string => line.replaceAll(/\p{Cc}/gu, ' ');

/** Exit code of a command that sent a message. */
export function exitOfMessage({ status }: MessageResponse, interrupted: AbortSignal): ExitCode {
  if (status === 'completed') return EXIT.done;
  return status === 'failed' ? EXIT.failed : unfinishedExit(interrupted);
}
