import { readConfig } from '../../config.ts';
import { AdminError, type AdminResult, type AdminTarget } from '../../exchange/operations/admin/command.ts';
import {
  listSourcesCommand,
  pauseSourceCommand,
  resumeSourceCommand,
} from '../../exchange/operations/admin/sources.ts';
import { createStore } from '../../exchange/platform/database/database.ts';
import { UsageError } from '../errors.ts';
import { EXIT } from '../exit-codes.ts';
import { renderTable } from '../table.ts';
import type { CommandResult } from '../terminal.ts';
import type { CommandContext, CommonOptions } from './command.ts';

export const SOURCE_ACTIONS = ['list', 'pause', 'resume'] as const;

export interface SourcesOptions extends CommonOptions {
  by?: string;
  reason?: string;
}

/**
 * Lists, pauses or resumes sources, for operators: a source serves every account, so no API key decides about it. Works on
 * the database of the running stack, or on DATABASE_URL.
 */
export async function sources(
  action: (typeof SOURCE_ACTIONS)[number],
  source: string | undefined,
  options: SourcesOptions,
  { target, env }: CommandContext,
): Promise<CommandResult> {
  const databaseUrl = target.stack?.connection.databaseUrl ?? readConfig(['DATABASE_URL'], env).DATABASE_URL;
  const store = createStore({ databaseUrl, poolMax: 1 });
  try {
    const { document, table, lines = [] } = await runOn({ store }, action, source, options);
    return {
      exitCode: EXIT.done,
      lines: [...(table === undefined ? [] : renderTable(table.head, table.rows)), ...lines],
      document: { command: 'sources', ...document },
    };
  } catch (error) {
    throw error instanceof AdminError ? new UsageError(error.message) : error;
  } finally {
    await store.close();
  }
}

async function runOn(
  target: Pick<AdminTarget, 'store'>,
  action: (typeof SOURCE_ACTIONS)[number],
  source: string | undefined,
  { by, reason }: SourcesOptions,
): Promise<AdminResult> {
  if (action === 'list') return listSourcesCommand(target);
  if (source === undefined)
    throw new UsageError(`Name the source to ${action}, such as: sources ${action} hie`);
  if (action === 'resume') return resumeSourceCommand(target, source);
  if (by === undefined || reason === undefined)
    throw new UsageError('Pass your name as --by and the reason as --reason; both are recorded.');
  return pauseSourceCommand(target, source, { by, reason });
}
