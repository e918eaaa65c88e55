import {
  RECONCILE_PARTS,
  type ReconcilePart,
} from '../../../contract/reconcile-workflow.ts';
import {
  pauseReconcile,
  readPauses,
  resumeReconcile,
} from '../../platform/recovery/reconcile-state-store.ts';
import { auditEverywhere } from './accounts.ts';
import {
  type AdminCommand,
  AdminError,
  checkedStatement,
  type Statement,
  shortTime,
} from './command.ts';

/** Lists the paused parts of reconcile. */
export const listReconcileCommand: AdminCommand = async ({ store }) => {
  const paused = await store.asSystem(readPauses);
  return {
    document: { paused },
    table: {
      head: ['Part', 'State', 'Since', 'By', 'Reason'],
      rows: RECONCILE_PARTS.map((part) => {
        const pause = paused.find((each) => each.part === part);
        if (pause === undefined) return [part, 'works', '–', '–', '–'];
        return [part, 'paused', shortTime(pause.since), pause.by, pause.reason];
      }),
    },
  };
};

/**
 * Pauses a part of reconcile until it is resumed: in the next round it does
 * nothing, and also after restarts.
 */
export const pauseReconcileCommand: AdminCommand<[string, Statement]> = async (
  { store },
  part,
  options,
) => {
  const statement = checkedStatement(options);
  await store.asSystem(async (tx) => {
    await pauseReconcile(tx, [knownPart(part)], statement);
    await auditEverywhere(tx, 'pauseReconcile', part);
  });
  return {
    document: { part, state: 'paused' },
    lines: [
      `Paused ${part}. A step of it that has begun ends within 25 s; nothing of it begins until you resume it.`,
      `To resume: npm run admin -- reconcile resume ${part}`,
    ],
  };
};

export const resumeReconcileCommand: AdminCommand<[string]> = async (
  { store },
  part,
) => {
  await store.asSystem(async (tx) => {
    if (!(await resumeReconcile(tx, [knownPart(part)])))
      throw new AdminError(`${part} is not paused`);
    await auditEverywhere(tx, 'resumeReconcile', part);
  });
  return {
    document: { part, state: 'works' },
    lines: [`Resumed ${part}: it works from the next round on.`],
  };
};

function knownPart(text: string): ReconcilePart {
  const part = RECONCILE_PARTS.find((each) => each === text);
  if (part !== undefined) return part;
  throw new AdminError(
    `"${text}" is not a part of reconcile; expected one of ${RECONCILE_PARTS.join(', ')}`,
  );
}
