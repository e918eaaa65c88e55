import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { renderTable } from '../../lib/table.ts';
import type { StarterCommand, StarterCommandOptions } from './command.ts';

type Options = StarterCommandOptions &
  Partial<Record<'passcode' | 'label' | 'qr', string>> & {
    expires?: number;
    once?: boolean;
  };

/**
 * Creates a SMART Health Link to a patient's summary (docs/health-links.md).
 */
export const healthLinkCreate: StarterCommand<[string, Options]> = async (
  id,
  options,
  { target },
) => {
  const {
    passcode,
    expires: expirationInSeconds,
    once: isOneTime,
    label,
    qr,
  } = options;
  const request = {
    params: { id },
    body: { expirationInSeconds, passcode, isOneTime, label },
  };
  const { answer } = await target.exchange.call('createHealthLink', request, {
    idempotencyKey: randomUUID(),
  });
  const { qrCode, ...document } = answer;
  if (qr !== undefined) await writeFile(qr, qrCode);
  return {
    lines: [
      answer.viewerUrl,
      '',
      `For apps: ${answer.link}`,
      `Id: ${answer.id}; until ${answer.expiresAt}`,
      ...(qr === undefined ? [] : [`Its QR picture is in ${qr}.`]),
      "Keep it secret: whoever has it reads the patient's summary. It is not shown again.",
    ],
    document: { command: 'health-link create', patientId: id, ...document },
  };
};

/** Lists the health links of a patient, and who opened them. */
export const healthLinkList: StarterCommand<
  [string, StarterCommandOptions]
> = async (id, _options, { target }) => {
  const { healthLinks } = (
    await target.exchange.call('listHealthLinks', { params: { id } })
  ).answer;
  const rows = healthLinks.map((each) => [
    each.id,
    each.status,
    each.expiresAt,
    each.label ?? '',
    each.openings
      .map(({ openedAt, recipient }) => `${recipient} (${openedAt})`)
      .join(', '),
  ]);
  return {
    lines: renderTable(['link', 'status', 'until', 'label', 'opened by'], rows),
    document: { command: 'health-link list', patientId: id, healthLinks },
  };
};

/** Ends a health link, from the next opening on. */
export const healthLinkRevoke: StarterCommand<
  [string, string, StarterCommandOptions]
> = async (id, healthLinkId, _, { target }) => {
  const { answer } = await target.exchange.call('revokeHealthLink', {
    params: { id, healthLinkId },
  });
  const document = {
    command: 'health-link revoke',
    patientId: id,
    healthLink: answer,
  };
  return { lines: [`${answer.id}: ${answer.status}`], document };
};
