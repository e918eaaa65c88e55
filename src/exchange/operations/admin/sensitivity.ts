import { readFile } from 'node:fs/promises';
import {
  insertSensitiveCodes,
  readSensitivity,
  setSensitivityPolicy,
} from '../../people/consents/sensitivity-store.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import { withinAccount } from '../../platform/database/database.ts';
import { SPELLINGS } from '../../records/rules/codes.ts';
import { isJson, type Json, objectsOf, textOf } from '../../records/rules/json.ts';
import { requireAccount } from './accounts.ts';
import {
  ADMIN_ACTOR,
  AdminError,
  type AdminResult,
  type AdminTarget,
  checkedStatement,
  type Statement,
} from './command.ts';

type Target = Pick<AdminTarget, 'store'>;
const LABEL = /^[A-Za-z0-9-]{1,64}$/;

/** `sensitivity list`: what each account withholds, and how many codes stand for each label. */
export async function listSensitivityCommand({ store }: Target): Promise<AdminResult> {
  const { policies, codes } = await store.asSystem(readSensitivity);
  return {
    document: { policies, codes },
    table: {
      head: ['account', 'withholds'],
      rows: policies.map(({ account, labels }) => [account, labels.join(' ')]),
    },
    lines: codes.map(({ label, count }) => `${label}: ${count} codes are loaded`),
  };
}

/** `sensitivity set`: the labels that an account withholds from now on, unless a patient's consent permits them. */
export async function setSensitivityCommand(
  { store }: Target,
  accountId: string,
  { labels: given, ...options }: Statement & { labels: string },
): Promise<AdminResult> {
  const statement = checkedStatement(options);
  const labels =
    given === 'none' ? [] : [...new Set(given.split(',').map((each) => checkedLabel(each.trim())))];
  await store.asSystem(async (tx) => {
    await requireAccount(tx, accountId);
    await setSensitivityPolicy(tx, accountId, labels);
    await withinAccount(tx, accountId, (own) =>
      insertAuditEntry(own, {
        ...{ actor: ADMIN_ACTOR, operation: 'setSensitivity', outcome: 'done' },
        details: JSON.stringify({ labels, ...statement }),
      }),
    );
  });
  const what = labels.length === 0 ? 'nothing, but for what consents deny' : labels.join(', ');
  return {
    document: { accountId, labels },
    lines: [`The account withholds ${what}. This holds from the next request on.`],
  };
}

/** `sensitivity load`: resources with a code of this FHIR ValueSet carry the label from now on, in all accounts. */
export async function loadSensitivityCommand(
  { store }: Target,
  file: string,
  { label: given }: { label: string },
): Promise<AdminResult> {
  const label = checkedLabel(given);
  const codes = codesIn(await readValueSet(file));
  if (codes.length === 0)
    throw new AdminError(
      `${file} lists no codes; expected a FHIR ValueSet with expansion.contains or compose.include.concept`,
    );
  const spelled = codes.flatMap(({ system, code }) =>
    spellingsOf(system).map((each) => ({ system: each, code: code.toUpperCase().replaceAll('.', '') })),
  );
  await store.asSystem((tx) => insertSensitiveCodes(tx, label, spelled));
  return {
    document: { label, codes: codes.length },
    lines: [`${codes.length} codes are labelled ${label} now, in what is stored and in what arrives.`],
  };
}

function checkedLabel(label: string): string {
  if (LABEL.test(label)) return label;
  throw new AdminError(
    `"${label}" is not a security label; expected codes like R, ETH or 42CFRPart2, or none`,
  );
}

async function readValueSet(file: string): Promise<Json> {
  try {
    const read: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (isJson(read) && read.resourceType === 'ValueSet') return read;
  } catch {
    // As any other file that is none.
  }
  throw new AdminError(`${file} is not a FHIR ValueSet in JSON`);
}

/** Codes of an expansion, with its nested ones, and codes that are listed one by one; filters are not applied. */
function codesIn({ expansion, compose }: Json): { system: string; code: string }[] {
  const nested = (list: unknown): Json[] =>
    objectsOf(list).flatMap((each) => [each, ...nested(each.contains)]);
  const listed = objectsOf(isJson(compose) ? compose.include : []);
  if (
    listed.some(({ filter, valueSet }) => filter !== undefined || valueSet !== undefined) &&
    !isJson(expansion)
  )
    throw new AdminError(
      'The ValueSet defines its codes by a filter or by other ValueSets; give its expansion',
    );
  const all = [
    ...nested(isJson(expansion) ? expansion.contains : []),
    ...listed.flatMap(({ system, concept }) => objectsOf(concept).map(({ code }) => ({ system, code }))),
  ];
  return all.flatMap(({ system, code }) => {
    const [known, value] = [textOf(system), textOf(code)];
    return known === undefined || value === undefined ? [] : [{ system: known, code: value }];
  });
}

const spellingsOf = (system: string): string[] => [
  system,
  ...Object.entries(SPELLINGS).flatMap(([spelling, canonical]) => (canonical === system ? [spelling] : [])),
];
