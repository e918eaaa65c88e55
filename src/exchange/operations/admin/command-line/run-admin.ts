import type { Command } from 'commander';
import type { CopyBlobsOptions } from '../blobs.ts';
import type {
  AdminCommandOptions,
  AdminResult,
  AdminTarget,
} from '../command.ts';

/** What commander passes to an action. */
type Given = Parameters<Parameters<Command['action']>[0]>;

/**
 * A command: gets the target, its arguments and its options without those that
 * all commands have.
 */
export type Admin = (
  target: AdminTarget,
  ...given: Given
) => Promise<AdminResult>;

/** Makes the action of a command, which prints what the command returns. */
export type RunAdmin = (command: Admin) => (...given: Given) => Promise<void>;

/** A command that needs no database: gets its options, and writes progress. */
export type Copying = (
  options: CopyBlobsOptions,
  tell: (line: string) => void,
) => Promise<AdminResult>;

/** The same for commands that need no database. */
export type RunCopying = (
  command: Copying,
) => (
  options: CopyBlobsOptions & AdminCommandOptions & { json?: boolean },
) => Promise<void>;
