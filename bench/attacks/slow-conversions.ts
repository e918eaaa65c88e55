import { loadSamplePatients } from '../../src/local-stack/sample-patients.ts';
import { callGateway, type StackAccount } from '../../test/support/stack.ts';
import { loadCcda } from '../../tools/simulator/samples.ts';
import type { Attack, Target } from './attack.ts';

const SLOW = 6;
const ROWS = 4_000;

/** A C-CDA document with a long table, different from all others. */
function longCcda(mark: string): string {
  const [sample] = loadSamplePatients();
  if (sample === undefined) throw new Error('there is no sample');
  const rows = Array.from(
    { length: ROWS },
    (_, row) => `<tr><td>${mark} ${row}</td><td>A line of the table</td></tr>`,
  );
  return loadCcda(sample)
    .toString('utf8')
    .replace('</tbody>', `${rows.join('')}</tbody>`);
}

/** Uploads these documents about a new patient; returns their ids. */
async function documentsOf(
  { stack }: Target,
  account: StackAccount,
  texts: string[],
): Promise<string[]> {
  const call = (path: string, body: object) =>
    callGateway(stack.connection, account, 'POST', path, { body });
  const [sample] = loadSamplePatients();
  const created = await call(
    `patient?facilityId=${account.facilityId}`,
    sample?.createBody ?? {},
  );
  const patientId = String(Reflect.get(Object(created.body), 'id'));
  const ids: string[] = [];
  for (const text of texts) {
    const opened = await call(`document/upload?patientId=${patientId}`, {
      description: 'A long document',
      type: { text: 'Letter' },
      context: { period: { start: '2026-11-20' } },
    });
    const uploadUrl = String(Reflect.get(Object(opened.body), 'uploadUrl'));
    const uploaded = await fetch(uploadUrl, {
      method: 'PUT',
      headers: { 'content-type': 'application/xml' },
      body: text,
    });
    if (!uploaded.ok)
      throw new Error(`The document was answered with ${uploaded.status}`);
    const rows = await stack.rows<{ id: string }>(
      'select id from document where account_id = $1 order by created_at desc limit 1',
      [account.accountId],
    );
    ids.push(rows[0]?.id ?? '');
  }
  return ids;
}

/**
 * All conversions were made by one thread, in the order of the requests: a
 * neighbour's took 62.8 s instead of 0.2 s.
 */
export const slowConversions: Attack = {
  name: `${SLOW} slow conversions of one account beside a neighbour's`,
  async run(target) {
    const { stack, account } = target;
    const neighbour = await stack.addAccount();
    const slow = await documentsOf(
      target,
      account,
      Array.from({ length: SLOW }, (_, each) => longCcda(`slow ${each}`)),
    );
    const own = await documentsOf(target, neighbour, [
      longCcda('own'),
      longCcda('own, alone'),
    ]);
    let ended = 0;
    const convert = async (by: StackAccount, id: string | undefined) => {
      const startedAt = performance.now();
      const path = `document/download-url?fileName=${id}&conversionType=pdf`;
      const { status } = await callGateway(stack.connection, by, 'GET', path, {
        timeoutMs: 240_000,
      });
      return { status, seconds: (performance.now() - startedAt) / 1_000 };
    };
    const alone = await convert(neighbour, own[1]);
    const all = slow.map((id) =>
      convert(account, id).finally(() => (ended += 1)),
    );
    const beside = await convert(neighbour, own[0]);
    const endedBefore = ended;
    const statuses = new Set(
      (await Promise.all(all)).map(({ status }) => status),
    );
    return {
      seen:
        `the neighbour's took ${alone.seconds.toFixed(1)} s alone and ${beside.seconds.toFixed(1)} s beside them, ` +
        `when ${endedBefore} of ${SLOW} were done; ${[...statuses].join(', ')}`,
      holds:
        beside.status === alone.status &&
        beside.status === 200 &&
        endedBefore < SLOW - 1,
    };
  },
};
