import type { Command } from 'commander';
import type { MONITORING_KINDS } from '../../contract/cohort-monitoring.ts';
import type { CommandContext } from '../commands/command.ts';
import type { CommandResult } from '../terminal.ts';

/** What commander passes to an action. */
type Given = Parameters<Parameters<Command['action']>[0]>;

/** A command: gets its arguments, its options and the context. */
export type Starter = (...given: Given) => Promise<CommandResult>;

/** Makes the action of a command, which prints what the command returns. */
export type RunStarter = (
  command: Starter,
) => (...given: Given) => Promise<void>;

/** Gives a command about one monitoring its two arguments as one. */
export const ofMonitoring =
  <O>(
    command: (
      which: { cohortId: string; kind: (typeof MONITORING_KINDS)[number] },
      options: O,
      context: CommandContext,
    ) => Promise<CommandResult>,
  ): Starter =>
  (cohortId, kind, options, context) =>
    command({ cohortId, kind }, options, context);
