import type { Command } from 'commander';
import type { AdminResult, AdminTarget } from './command.ts';

/** Opens the target of a command, runs it, and prints its result. */
export type RunCommand = (
  options: CommonOptions,
  command: (target: AdminTarget) => Promise<AdminResult>,
) => Promise<void>;

/** Runs a command that needs no database, and prints its result. */
export type RunAlone = (command: () => Promise<AdminResult>) => Promise<void>;

export interface CommonOptions {
  dataDir?: string;
}

/** Adds a command with the options that all commands on the database have. */
export const subcommand = (parent: Command, name: string, description: string): Command =>
  parent
    .command(name)
    .description(description)
    .option('--data-dir <folder>', 'data folder of the running stack (default: DATA_DIR, else .data)')
    .option('--json', 'print one JSON document to stdout');

export const ofAccount = (command: Command): Command =>
  command.requiredOption('--account <id>', 'id of the account, from "accounts list"');
