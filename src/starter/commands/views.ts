import { renderTable } from '../../lib/table.ts';
import { UsageError } from '../errors.ts';
import { readInputJson } from '../input/patients.ts';
import type {
  CommandContext,
  StarterCommand,
  StarterCommandOptions,
} from './command.ts';
import { type ExportOptions, exportRecords } from './export.ts';

export const viewsList: StarterCommand<[StarterCommandOptions]> = async (
  _options,
  { target },
) => {
  const views = await target.exports.listViews();
  const rows = views.map(({ id, resource, title = '' }) => [
    id,
    resource,
    title,
  ]);
  return {
    lines: renderTable(['view', 'resource', 'what it has'], rows),
    document: { command: 'views list', views },
  };
};

/**
 * Prints a ready-made definition, to be changed and run as a file. Throws
 * UsageError.
 */
export const viewsShow: StarterCommand<
  [string, StarterCommandOptions]
> = async (wanted, _options, { target }) => {
  const definition = (await target.exports.listViews()).find(
    ({ id }) => id === wanted,
  );
  if (definition === undefined)
    throw new UsageError('There is no such view. List them with: views list');
  return {
    lines: JSON.stringify(definition, null, 2).split('\n'),
    document: { command: 'views show', definition },
  };
};

/**
 * Runs ready-made views by their ids, and definitions in files; then as
 * `exportRecords`.
 */
export async function viewsRun(
  given: readonly string[],
  options: Omit<ExportOptions, 'views'>,
  context: CommandContext,
) {
  const views = given.map((each) =>
    /[./\\]/.test(each) ? readInputJson(each) : each,
  );
  return exportRecords(
    { ...options, views: await Promise.all(views) },
    context,
  );
}
