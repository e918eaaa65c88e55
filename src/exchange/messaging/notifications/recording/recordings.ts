import type { Platform } from '../../../platform/platform.ts';
import { itemRecovery } from '../../../platform/recovery/recovery.ts';
import type { StartGuard } from '../../../platform/recovery/start-guard.ts';
import { createBackground } from '../../../platform/workflows/start-workflow.ts';
import type { Arrivals } from '../../../records/arrivals/arrivals.ts';
import { convertLater } from '../../../records/documents-to-read.ts';
import type { RecordKeeper } from '../../../records/record-keeper.ts';
import type { Applied } from '../apply.ts';
import {
  type OfPatient,
  recordSource,
  recordSubject,
} from './record-subject.ts';
import {
  markRecorded,
  readKind,
  readRecording,
  subjectsToRecord,
} from './recording-store.ts';

export type Recordings = ReturnType<typeof createRecordings>;

/** The process that committed a message has this long to record it itself. */
const GRACE_MS = 5_000;
/** Per round of `reconcile`: a C-CDA document takes about a second. */
const SUBJECTS_MAX = 50;

/**
 * Keeps patients' records in line with what senders report
 * (docs/decisions/0105-what-a-message-reports-becomes-record.md).
 */
export function createRecordings(
  deps: Pick<Platform, 'store' | 'blobs' | 'idHmacKey' | 'logger'> & {
    records: Pick<RecordKeeper, 'merge'>;
    arrivals: Pick<Arrivals, 'tell'>;
    startGuard: StartGuard;
  },
) {
  const { store } = deps;
  const background = createBackground(deps.logger);

  /** Returns false if there was nothing to do. */
  async function record(of: OfPatient): Promise<boolean> {
    const isChanged = await recordSubject(deps, of);
    if (isChanged) deps.arrivals.tell();
    return isChanged;
  }

  /**
   * Converts C-CDA documents that came with the messages. Those that end the
   * worker each time stay documents.
   */
  async function convert(
    {
      accountId,
      ...of
    }: { accountId: string; patientId: string; subjectId: string },
    signal: AbortSignal,
  ): Promise<void> {
    const name = `recorded-subject/${of.patientId}/${of.subjectId}`;
    const source = recordSource(
      await store.asSystem((tx) => readKind(tx, of.subjectId)),
    );
    const work = { accountId, patientId: of.patientId, name, source };
    await convertLater(deps, work, signal, () =>
      store.asAccount(accountId, (tx) =>
        markRecorded(tx, of, { toBeRead: false }),
      ),
    );
  }

  return {
    /**
     * Records, in the background, what a committed message changed. When that
     * fails, `reconcile` does it later.
     */
    launch(recording: OfPatient): void {
      const { accountId: _, ...ids } = recording;
      background.run(
        'what a message reported could not be recorded yet; reconcile does it later',
        ids,
        () => record(recording),
      );
    },
    recovery: itemRecovery({
      name: 'messages to record',
      limit: SUBJECTS_MAX,
      find: (limit) =>
        store.asSystem((tx) =>
          subjectsToRecord(tx, { olderThanMs: GRACE_MS, limit }),
        ),
      async heal(item, signal) {
        const isChanged = await record(item);
        const state = await store.asAccount(item.accountId, (tx) =>
          readRecording(tx, item),
        );
        if (state?.toBeRead === true) await convert(item, signal);
        return isChanged || state?.toBeRead === true;
      },
    }),
    drain: () => background.drain(),
  };
}

/**
 * After the commit: brings the records up to date that a message may have
 * changed.
 */
export function startRecordings(
  recordings: Pick<Recordings, 'launch'>,
  applied: readonly Applied[],
): void {
  for (const { accountId, toRecord } of applied.flatMap(
    ({ updates }) => updates,
  ))
    for (const of of toRecord) recordings.launch({ accountId, ...of });
}
