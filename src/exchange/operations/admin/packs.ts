import { minuteOf } from '../../../lib/time.ts';
import {
  type PackingMode,
  type PackingProgress,
  type PackingState,
  readPacking,
  readPackingProgress,
  readPackingTrouble,
  sayPackingTrouble,
  setPacking,
} from '../../records/packing/packing-store.ts';
import { auditEverywhere } from './accounts.ts';
import {
  type AdminCommand,
  checkedStatement,
  type Statement,
} from './command.ts';

/**
 * What is done with packs, and how far it is. A record whose packing fails again
 * and again is a fault (exit code 3).
 */
export const packsStatusCommand: AdminCommand = async ({ store }) => {
  const { state, progress, trouble } = await store.asSystem(async (tx) => {
    const state = await readPacking(tx);
    return {
      state,
      progress: await readPackingProgress(tx, state),
      trouble: await readPackingTrouble(tx),
    };
  });
  return {
    document: { mode: state.mode, upTo: state.upTo, ...progress, trouble },
    lines: [
      MODES[state.mode],
      ...(progress === undefined ? [] : progressLines(state, progress)),
      ...(trouble === undefined ? [] : [sayPackingTrouble(trouble)]),
    ],
    failed: trouble !== undefined,
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

function progressLines(
  { mode, upTo }: PackingState,
  { records, done, waiting, due, oldestDue, isAnyPacked }: PackingProgress,
): string[] {
  const held = isAnyPacked
    ? 'There is something in packs.'
    : 'Nothing is in packs.';
  if (mode === 'off') return [held];
  const all =
    upTo === null
      ? 'All records have been taken up'
      : `${done} of ${records} records have been taken up`;
  const since = oldestDue === null ? '' : `, since ${minuteOf(oldestDue)}`;
  return [
    `${all}; ${waiting} wait until they are at rest, ${due} of them are due${since}.`,
    held,
  ];
}
