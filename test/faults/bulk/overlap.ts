import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import {
  downloadResult,
  hasEnded,
  putCsv,
  startBulkCreate,
  untilStatus,
} from '../../support/bulk-create.ts';
import {
  callGateway,
  type StackAccount,
  type TestStack,
} from '../../support/stack.ts';
import { PANEL_HEADER, panelLine } from './panel.ts';

const PEOPLE = 2_800;
const people = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, n) => from + n);
/**
 * A few chunks each: the first stretch in the same order in both, then each
 * comes to the other's people from its end.
 */
const FILES = [
  people(0, 2_400),
  [...people(0, 1_200), ...people(1_600, PEOPLE).reverse()],
] as const;
/** These are created one by one meanwhile. */
const BY_E4 = people(0, 40).map((n) => n * 70);

/**
 * Two files with many of the same people uploaded at once through the public
 * interface, while some of them are created by E4 too. Answers what is not as
 * it should be: one patient a person, whoever asks.
 */
export async function runOverlap(
  stack: TestStack,
  timeoutMs: number,
): Promise<string[]> {
  const account = await stack.addAccount();
  const folder = await mkdtemp(join(tmpdir(), 'exchange-overlap-'));
  try {
    const [first, second, byE4] = await Promise.all([
      ...FILES.map((file, index) =>
        importFile(
          stack,
          account,
          file,
          join(folder, `${index}.csv`),
          timeoutMs,
        ),
      ),
      createOneByOne(stack, account),
    ]);
    const faults: string[] = [];
    const ids = new Map<string, string>();
    for (const [externalId, id] of [
      ...(first ?? []),
      ...(second ?? []),
      ...(byE4 ?? []),
    ]) {
      const known = ids.get(externalId) ?? id;
      ids.set(externalId, known);
      if (known !== id || id === '')
        faults.push(`${externalId} is ${known} and ${id}`);
    }
    if (ids.size !== PEOPLE)
      faults.push(`${PEOPLE} people expected, told of ${ids.size}`);
    const [found] = await stack.rows<{ patients: number }>(
      'select count(*)::int as patients from patient where account_id = $1',
      [account.accountId],
    );
    if (found?.patients !== PEOPLE)
      faults.push(`${PEOPLE} patients expected, got ${found?.patients}`);
    return faults;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

type IdsByExternalId = [externalId: string, patientId: string][];

async function importFile(
  stack: TestStack,
  account: StackAccount,
  file: readonly number[],
  csvFile: string,
  timeoutMs: number,
): Promise<IdsByExternalId> {
  const lines = file.map((person) =>
    panelLine(person, { phone: person, optsOut: true }),
  );
  await writeFile(csvFile, `${[PANEL_HEADER, ...lines].join('\n')}\n`);
  const { requestId, uploadUrl } = await startBulkCreate(stack, account);
  await putCsv(account, uploadUrl, csvFile);
  const end = await untilStatus(stack, account, requestId, hasEnded, {
    timeoutMs,
  });
  await downloadResult(end, csvFile);
  const rows = parse(await readFile(csvFile), { columns: true }) as Record<
    string,
    string
  >[];
  return rows.map(({ externalId = '', patientId = '' }) => [
    externalId,
    patientId,
  ]);
}

async function createOneByOne(
  stack: TestStack,
  account: StackAccount,
): Promise<IdsByExternalId> {
  const ids: IdsByExternalId = [];
  for (const person of BY_E4) {
    const [row] = parse(
      `${PANEL_HEADER}\n${panelLine(person, { phone: person, optsOut: true })}`,
      {
        columns: true,
      },
    ) as Record<string, string>[];
    const {
      externalId = '',
      firstName,
      lastName,
      dob,
      gender,
      addressLine1,
      city,
      state,
      zip,
    } = row ?? {};
    const address = [{ addressLine1, city, state, zip, country: 'USA' }];
    const body = {
      externalId,
      firstName,
      lastName,
      dob,
      genderAtBirth: gender,
      address,
    };
    const path = `patient?facilityId=${account.facilityId}`;
    const answer = await callGateway(stack.connection, account, 'POST', path, {
      body,
    });
    ids.push([externalId, answer.body.id ?? `${answer.status}`]);
  }
  return ids;
}
