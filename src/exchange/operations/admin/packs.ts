import {
  type PackingMode,
  type PackingState,
  readPacking,
  readPackingProgress,
  setPacking,
} from '../../records/packing/packing-store.ts';
import { auditEverywhere } from './accounts.ts';
import {
  type AdminCommand,
  checkedStatement,
  type Statement,
} from './command.ts';

/** What is done with packs, and how far it is. */
export const packsStatusCommand: AdminCommand = async ({ store }) => {
  const state = await store.asSystem(readPacking);
  const progress = await store.asSystem((tx) => readPackingProgress(tx, state));
  return {
    document: { ...state, ...progress },
    lines: [
      MODES[state.mode],
      ...(state.mode === 'off' ? [] : [progressOf(state, progress)]),
    ],
  };
};

/** Sets what is done from the next round of reconcile on. */
export const setPacksCommand =
  (mode: PackingMode): AdminCommand<[Statement]> =>
  async ({ store }, options) => {
    const { by, reason } = checkedStatement(options);
    await store.asSystem(async (tx) => {
      await setPacking(tx, mode);
      await auditEverywhere(tx, 'setPacking', mode, { by, reason });
    });
    return { document: { mode }, lines: [MODES[mode]] };
  };

const MODES: Record<PackingMode, string> = {
  off: 'Records are left as they are; those in packs are read from them.',
  pack: 'Records at rest are packed. A build of 0.2.0 or before cannot read them.',
  unpack:
    'Records are taken out of packs. When all are, a build of 0.2.0 can read them.',
};

function progressOf(
  { upTo }: PackingState,
  { records, done, waiting }: Awaited<ReturnType<typeof readPackingProgress>>,
): string {
  const all =
    upTo === null
      ? 'All records have been taken up'
      : `${done} of ${records} records have been taken up`;
  return `${all}; ${waiting} are to be taken up once they are at rest.`;
}
