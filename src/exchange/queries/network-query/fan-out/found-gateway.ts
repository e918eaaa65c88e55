import { columnsOf } from '../../../platform/database/columns.ts';
import type { AccountTx } from '../../../platform/database/database.ts';
import type { OwnConnection } from '../../../sources/connections/connections.ts';
import type { Cursor } from '../../../sources/connectors/connector.ts';
import type { PartStep } from '../attempt-store.ts';
import { recordNotice } from '../collection-store.ts';
import { type AttemptPart, readAttemptParts } from '../part-store.ts';
import { addOfStep } from '../timeline-store.ts';
import { maySaveAsks, saveAsks } from './ask-store.ts';

/**
 * A gateway has found the patient: it becomes a part of the attempt, whose
 * documents are collected from the cursor on; without one, it is asked for them.
 * Safe to repeat. Undefined when the
 * step may no longer write, or the gateway was ended otherwise.
 */
export async function saveFound(
  tx: AccountTx,
  step: PartStep,
  {
    gatewayStep,
    answers,
    cursor,
    notice,
  }: {
    gatewayStep: number;
    answers: number;
    cursor: Cursor | null;
    notice: string | undefined;
  },
): Promise<AttemptPart | undefined> {
  const { part, source, attempt } = step;
  if (part.id === null) throw new Error('a gateway has an id');
  const result = { gatewayId: part.id, state: 'found', answers } as const;
  const saved = await saveAsks(tx, step, gatewayStep, [result]);
  if (saved.length > 0) {
    await insertFoundPart(tx, step, part, cursor);
    await addOfStep(tx, step, {
      kind: 'found',
      message: `${part.name} knows the patient; its documents are collected`,
      onceKey: `found/${source}/${attempt}/${part.id}`,
    });
    if (notice !== undefined) await recordNotice(tx, step, notice);
  } else if (!(await maySaveAsks(tx, step, gatewayStep))) return undefined;
  const parts = await readAttemptParts(tx, step);
  return parts.find(({ id }) => id === part.id);
}

const insertFoundPart = (
  tx: AccountTx,
  { requestId, source, attempt }: PartStep,
  { id, name, namespace }: OwnConnection,
  cursor: Cursor | null,
): Promise<unknown> =>
  tx.db
    .insertInto('network_query_part')
    .values(
      columnsOf({
        queryId: requestId,
        source,
        attempt,
        connectionId: id,
        accountId: tx.accountId,
        name,
        namespace,
        cursor: cursor === null ? null : JSON.stringify(cursor),
      }),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
