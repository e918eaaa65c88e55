import { EXIT } from '../exit-codes.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';
import { messageResult } from './report-message.ts';

/** Shows one message with its text. */
export async function messagesShow(
  messageId: string,
  _options: CommonOptions,
  context: CommandContext,
): Promise<CommandResult> {
  const { answer } = await context.target.exchange.call('getMessage', { params: { id: messageId } });
  return { exitCode: EXIT.done, ...messageResult('messages show', answer, context) };
}
