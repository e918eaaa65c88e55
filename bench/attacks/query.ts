import { until } from '../../test/faults/kill/until.ts';
import { newPerson } from '../../test/faults/models/world.ts';
import { callGateway } from '../../test/support/stack.ts';
import type { Target } from './attack.ts';

/**
 * Creates a patient and queries the hostile source about them. Returns how that
 * ends, or where it stands after a while.
 */
export async function queryHostile(
  { stack: { connection }, account }: Target,
  timeoutMs = 60_000,
): Promise<string> {
  const path = `patient?facilityId=${account.facilityId}`;
  const created = await callGateway(connection, account, 'POST', path, {
    body: newPerson(),
  });
  const started = await callGateway(
    connection,
    account,
    'POST',
    `network/query?patientId=${created.body.id}`,
    {
      body: { sources: ['hie'] },
    },
  );
  const query = `network/query/${started.body.requestId}`;
  let end = '';
  const timeline = async (): Promise<{ kind: string; message: string }[]> =>
    (await callGateway(connection, account, 'GET', `${query}/timeline`)).body
      .timeline;
  await until(
    async () => {
      const kinds = (await timeline()).map(({ kind }) => kind);
      end = kinds.includes('completed')
        ? 'completed'
        : (kinds.find((kind) => /fail|wait|retry/.test(kind)) ?? '');
      return end !== '';
    },
    { timeoutMs, everyMs: 200 },
  );
  if (end === 'completed') return end;
  const last = (await timeline()).findLast(({ kind }) => kind === end);
  await callGateway(connection, account, 'POST', `${query}/cancel`);
  return last === undefined ? 'no answer' : `${last.kind}: ${last.message}`;
}
