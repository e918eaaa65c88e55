import { InvalidArgumentError } from 'commander';
import { givenVariables, readConfig } from './config.ts';
import {
  buildStatus,
  makeCurrent,
  ramp,
  rollBack,
  unpin,
} from './deployment/build-commands.ts';
import { replayReport } from './deployment/replay-report.ts';
import { runTool, withCommonOptions } from './deployment/run-tool.ts';
import { EXIT } from './lib/exit-codes.ts';
import { parseKeyRing } from './lib/key-ring.ts';
import { createLogger } from './lib/logger.ts';
import type { TemporalClient } from './temporal/client.ts';
import { createDataConverter } from './temporal/data-converter.ts';
import { replayOpenRuns } from './temporal/replay-open.ts';
import { installTemporalRuntime } from './temporal/runtime.ts';
import { hashOfBuild, loadWorkflowBundle } from './temporal/workflow-bundle.ts';

/**
 * `npm run deployment`: which build of the workers Temporal sends work to
 * (docs/operations/new-build.md).
 */
process.exitCode = await runTool(
  'deployment',
  process.argv.slice(2),
  (program, withTemporal) => {
    const command = (name: string, description: string) =>
      withCommonOptions(program.command(name).description(description));

    command('status', 'lists the builds').action((options) =>
      withTemporal(options, buildStatus),
    );

    command(
      'current',
      'makes this build current, if what would move to it replays',
    )
      .option('--build <id>', 'another build, which is not replayed here')
      .action(({ build, ...options }) =>
        withTemporal(options, async (client, dataKeys) => {
          if (build !== undefined) return makeCurrent(client, build);
          const replayed = await replayMoving(client, dataKeys);
          return replayed.exitCode === EXIT.done
            ? makeCurrent(client, await ownBuild())
            : replayed;
        }),
      );

    command(
      'ramp',
      'sends a share of new and unpinned runs to this build, if what may move to it replays',
    )
      .argument('<percent>', '1 to 100', percentage)
      .option('--build <id>', 'another build, which is not replayed here')
      .action((percent: number, { build, ...options }) =>
        withTemporal(options, async (client, dataKeys) => {
          if (build !== undefined) return ramp(client, build, percent);
          const replayed = await replayMoving(client, dataKeys);
          return replayed.exitCode === EXIT.done
            ? ramp(client, await ownBuild(), percent)
            : replayed;
        }),
      );

    command(
      'rollback',
      'ends a ramp, or else makes the previous build current again',
    ).action((options) => withTemporal(options, rollBack));

    command(
      'unpin',
      'lets the open runs that are pinned to a build go on with the current one',
    )
      .argument('<build>')
      .action((build: string, options) =>
        withTemporal(options, (client) => unpin(client, build)),
      );

    command(
      'unversioned',
      'sends everything to workers without versioning',
    ).action((options) =>
      withTemporal(options, (client) => makeCurrent(client, undefined)),
    );
  },
);

/**
 * Function declarations below, so that they are hoisted: `runTool` above is
 * awaited before these lines are reached.
 */
async function ownBuild(): Promise<string> {
  return givenVariables(['BUILD_ID']).BUILD_ID ?? hashOfBuild();
}

/**
 * Replays, with the code of this build, the open runs that are not pinned to
 * another.
 */
async function replayMoving(client: TemporalClient, dataKeys: string) {
  installTemporalRuntime(
    createLogger('deployment', readConfig(['LOG_LEVEL']).LOG_LEVEL),
  );
  const workflowBundle = await loadWorkflowBundle();
  const dataConverter = createDataConverter(parseKeyRing(dataKeys));
  return replayReport(
    await replayOpenRuns(client, {
      workflowBundle,
      dataConverter,
      unpinnedOnly: true,
    }),
  );
}

function percentage(text: string): number {
  const value = Number(text);
  if (value >= 1 && value <= 100) return value;
  throw new InvalidArgumentError('Give a percentage from 1 to 100.');
}
