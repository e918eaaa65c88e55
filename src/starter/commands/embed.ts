import { randomUUID } from 'node:crypto';
import { EXIT } from '../exit-codes.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';

export interface EmbedOptions extends CommonOptions {
  seconds?: number;
}

/** Makes an embed token and tells the address of a patient's page with it, to open in a browser or to put in a frame. */
export async function embed(
  patientId: string,
  { seconds }: EmbedOptions,
  { target }: CommandContext,
): Promise<CommandResult> {
  const { exchange } = target;
  // Asked for first: a page of nobody would tell only when it is opened.
  const { answer: patient } = await exchange.call('getPatient', { params: { id: patientId } });
  const { answer: account } = await exchange.call('getSettings', {});
  const { answer } = await exchange.call(
    'createEmbedToken',
    { body: { expirationInSeconds: seconds } },
    { idempotencyKey: randomUUID() },
  );
  const page = `${target.baseUrl}/embed/${account.id}/patient/${patient.id}`;
  const url = `${page}#access_token=${answer.token}`;
  return {
    exitCode: EXIT.done,
    lines: [
      url,
      '',
      'Whoever has this address may read the records of this account until the token expires.',
    ],
    document: { command: 'embed', patientId: patient.id, url },
  };
}
