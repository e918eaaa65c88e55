import {
  defineQuery,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { DirectoryActivities } from '../../../activities/exchange/directory.ts';
import {
  type DirectoryLoaded,
  type DirectoryRefreshInput,
  DIRECTORY_REFRESH_MESSAGES as MESSAGES,
} from '../../../contract/directory-refresh-workflow.ts';

const { loadDirectory } = proxyActivities<DirectoryActivities>({
  startToCloseTimeout: '1 hour',
  scheduleToCloseTimeout: '12 hours',
  heartbeatTimeout: '1 minute',
  retry: { initialInterval: '1 minute', maximumInterval: '1 hour' },
  summary: 'Load the directory',
});

/**
 * Reads the directory of a network from where it comes, and brings ours in line
 * with it.
 *
 * Durable because a directory that cannot be read now is read later, and because
 * each run is seen with what it changed and refused. Started by a schedule; runs
 * of one directory do not overlap. The step may run twice: it counts anew, and
 * writes what the directory has.
 */
export async function directoryRefresh({
  directory,
}: DirectoryRefreshInput): Promise<DirectoryLoaded> {
  let loaded: DirectoryLoaded | undefined;
  setHandler(
    defineQuery<DirectoryLoaded | undefined>(MESSAGES.status),
    () => loaded,
  );
  setCurrentDetails(`Loading the directory **${directory}**`);

  loaded = await loadDirectory({ directory });
  setCurrentDetails(detailsOf(directory, loaded));
  return loaded;
}

function detailsOf(
  directory: string,
  { kept, read, remarked, ...counts }: DirectoryLoaded,
): string {
  const facts = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `- ${name}: ${count}`);
  return [
    `**${directory}: ${read} items read**`,
    '',
    ...facts,
    ...(remarked === 0
      ? []
      : [`- ${remarked} entries were read otherwise than written`]),
    ...(kept === undefined ? [] : [`- ${kept}`]),
    '',
    `What was refused, and why: \`npm run admin -- directory show ${directory}\``,
  ].join('\n');
}
