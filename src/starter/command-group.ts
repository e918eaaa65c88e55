import type { Command } from 'commander';
import type { CommandContext, CommonOptions } from './commands/command.ts';
import type { CommandResult } from './terminal.ts';

/** Opens the target of the options, runs a command on it, and prints its result. */
export type Run = (
  common: CommonOptions,
  command: (context: CommandContext) => Promise<CommandResult>,
) => Promise<void>;

/** What the program passes to each group of commands. `Name`: full names of the group's commands, as in `help.ts`. */
export interface CommandGroup<Name extends string> {
  run: Run;
  /** Adds a command with the options that all commands have. */
  subcommand(name: Name, description: string): Command;
  /** Adds `--wait`, `--no-wait` and `--timeout`. */
  following(command: Command): Command;
}
