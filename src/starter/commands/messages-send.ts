import { randomUUID } from 'node:crypto';
import type { MessageNetwork } from '../../contract/messages.ts';
import { EXIT } from '../exit-codes.ts';
import { followMessage } from '../progress/follow-message.ts';
import { coloured } from '../progress/rows.ts';
import type { CommandResult } from '../terminal.ts';
import { type CommandContext, endOfFollowing, type FollowingOptions } from './command.ts';
import { exitOfMessage, messageResult } from './report-message.ts';

export interface MessagesSendOptions extends FollowingOptions {
  to: string;
  subject: string;
  body?: string;
  attach?: string[];
  npi?: string[];
  network?: MessageNetwork;
}

/** Sends a message about a patient, and follows its transmission until it ends. */
export async function messagesSend(
  patientId: string,
  { to, subject, body, attach, npi, network, wait, timeout }: MessagesSendOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const { target, terminal } = context;
  const { answer: sent } = await target.exchange.call(
    'sendMessage',
    {
      query: { patientId },
      body: { destination: to, subject, body, attachments: attach, intendedRecipientNpi: npi, network },
    },
    { idempotencyKey: randomUUID() },
  );
  if (!wait) return { exitCode: EXIT.done, ...messageResult('messages send', sent, context) };
  const { live } = terminal;
  const message = await followMessage(
    target.exchange,
    sent,
    ({ status }, problem) =>
      live.set(`message ${sent.id}`, [
        `${coloured(status, live.colors)}${problem === undefined ? '' : ` (${problem})`}`,
      ]),
    { signal: endOfFollowing(terminal, { timeout }) },
  );
  live.close();
  const result = messageResult('messages send', message, context);
  const exitCode = exitOfMessage(message, terminal.interrupted);
  const later = `The transmission continues without this terminal. Check on it with: npm run starter -- messages show ${sent.id}`;
  return {
    exitCode,
    ...result,
    lines: message.status === 'processing' ? [...result.lines, '', later] : result.lines,
  };
}
