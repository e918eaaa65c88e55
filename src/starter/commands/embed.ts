import { randomUUID } from 'node:crypto';
import type { StarterCommand, StarterCommandOptions } from './command.ts';

export interface EmbedOptions extends StarterCommandOptions {
  seconds?: number;
}

/**
 * Creates an embed token and returns the address of the patient's page with it,
 * for a browser or an iframe (docs/interface.md, "E1. Create embed token").
 */
export const embed: StarterCommand<[string, EmbedOptions]> = async (
  patientId,
  { seconds },
  { target },
) => {
  const { exchange } = target;
  // Checked here because the page itself reports an unknown patient only once
  // it is opened.
  const { answer: patient } = await exchange.call('getPatient', {
    params: { id: patientId },
  });
  const { answer: account } = await exchange.call('getSettings', {});
  const { answer } = await exchange.call(
    'createEmbedToken',
    { body: { expirationInSeconds: seconds } },
    { idempotencyKey: randomUUID() },
  );
  const page = `${target.baseUrl}/embed/${account.id}/patient/${patient.id}`;
  const url = `${page}#access_token=${answer.token}`;
  return {
    lines: [
      url,
      '',
      "Keep this address secret: until the token expires, it gives read access to this account's records.",
    ],
    document: { command: 'embed', patientId: patient.id, url },
  };
};
