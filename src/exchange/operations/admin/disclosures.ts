import { stringify } from 'csv-stringify/sync';
import { endpoints } from '../../../contract/endpoints.ts';
import { listApiKeys } from '../../access/accounts/api-key-store.ts';
import { listClients } from '../../access/fhir-clients/client-store.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import { type Disclosure, readDisclosures } from '../audit/disclosure-store.ts';
import { ofAccount } from './accounts.ts';
import type { AuditExportOptions } from './audit.ts';
import { ADMIN_ACTOR, type AdminCommand, AdminError } from './command.ts';

export interface DisclosureOptions
  extends Pick<AuditExportOptions, 'account' | 'from' | 'to'> {
  patient: string;
}

/** How far back a patient may ask (45 CFR 164.528). */
const YEARS = 6;
const DISCLOSURES_MAX = 100_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const READ_OPERATIONS = Object.entries(endpoints).flatMap(
  ([name, { method }]) => (method === 'GET' ? [name] : []),
);

const COLUMNS = [
  'at',
  'door',
  'recipient',
  'label',
  'remoteAddress',
  'what',
  'targetId',
  'purpose',
] as const satisfies readonly (keyof Disclosure)[];

/**
 * `disclosures report`: who was given this patient's data, by which door, when
 * and for which purpose, as CSV or JSON.
 */
export const disclosuresCommand: AdminCommand<[DisclosureOptions]> = async (
  { store },
  { account: accountId, patient: patientId, ...options },
) => {
  if (!UUID.test(patientId))
    throw new AdminError('--patient must be the id of a patient');
  const to = options.to ?? new Date();
  const from = options.from ?? yearsBefore(to, YEARS);
  const labels = await ofAccount(store, accountId, async (tx) => {
    const keys = (await listApiKeys(tx, accountId)).map(
      ({ id, label }) => [`key:${id}`, label] as const,
    );
    const clients = await listClients(tx, accountId);
    return new Map<string, string | null>([
      ...keys,
      ...clients.map(({ id, label }) => [`client:${id}`, label] as const),
    ]);
  });
  const found = await store.asAccount(accountId, async (tx) => {
    const known = await readDisclosures(tx, patientId, {
      from,
      to,
      limit: DISCLOSURES_MAX + 1,
      readOperations: READ_OPERATIONS,
    });
    await insertAuditEntry(tx, {
      actor: ADMIN_ACTOR,
      operation: 'reportDisclosures',
      patientId,
      outcome: 'done',
    });
    return known;
  });
  if (found.length > DISCLOSURES_MAX)
    throw new AdminError(
      `More than ${DISCLOSURES_MAX} disclosures; narrow the period with --from and --to, and repeat`,
    );
  const disclosures = found.map((row) => ({
    ...row,
    label: labels.get(row.recipient) ?? row.label,
  }));
  return {
    document: { accountId, patientId, from, to, disclosures },
    lines: stringify(disclosures.map(csvRow), {
      header: true,
      columns: [...COLUMNS],
      escape_formulas: true,
    })
      .trimEnd()
      .split('\n'),
  };
};

const csvRow = (disclosure: Disclosure) => ({
  ...disclosure,
  at: disclosure.at.toISOString(),
  purpose: disclosure.purpose ?? 'not stated',
});

function yearsBefore(time: Date, years: number): Date {
  const earlier = new Date(time);
  earlier.setUTCFullYear(earlier.getUTCFullYear() - years);
  return earlier;
}
