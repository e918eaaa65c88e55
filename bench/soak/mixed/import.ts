import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Panel, writePanel } from '../../../test/faults/bulk/panel.ts';
import { hasEnded, putCsv } from '../../../test/support/bulk-create.ts';
import type { CarefulCaller, Post } from './careful-caller.ts';

export interface Imported {
  requestId: string;
  panel: Panel;
}

const ROWS = 60;
const TO_QUERY = 4;

/** A CSV is uploaded, paused and resumed; then its queries end. */
export async function runImport(
  caller: CarefulCaller,
  post: Post,
  {
    folder,
    deadlineAt,
    rows = ROWS,
  }: { folder: string; deadlineAt: number; rows?: number },
): Promise<Imported> {
  const panel = await writePanel(join(folder, 'panel.csv'), {
    rows,
    toQuery: TO_QUERY,
  });
  const { requestId, uploadUrl } = await post(
    `patient/bulk?facilityId=${caller.account.facilityId}`,
  );
  const path = `patient/bulk/${requestId}`;
  // A PUT whose answer was lost has been received, if the status says so.
  while ((await caller.get(path)).status === 'waiting') {
    if (Date.now() > deadlineAt)
      throw new Error(`${path}: the file could not be uploaded`);
    await putCsv(caller.account, uploadUrl, panel.csvFile).catch(() =>
      sleep(500),
    );
  }
  await caller.steer(`${path}/pause`);
  await caller.steer(`${path}/resume`);
  await caller.getUntil(path, hasEnded);
  await caller.getUntil(
    path,
    ({ status, sweep }) =>
      status !== 'completed' ||
      (sweep?.state === 'completed' && sweep.open === 0),
  );
  return { requestId, panel };
}
