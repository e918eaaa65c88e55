import { InvalidArgumentError } from 'commander';
import { readConfig } from './config.ts';
import { replayReport } from './deployment/replay-report.ts';
import {
  runTool,
  ToolError,
  withCommonOptions,
} from './deployment/run-tool.ts';
import { parseKeyRing } from './lib/key-ring.ts';
import { createLogger } from './lib/logger.ts';
import { createDataConverter } from './temporal/data-converter.ts';
import { replayOpenRuns } from './temporal/replay-open.ts';
import { installTemporalRuntime } from './temporal/runtime.ts';
import { loadWorkflowBundle } from './temporal/workflow-bundle.ts';

/**
 * `npm run replay -- --open`: replays the open runs of a running system with
 * the workflow code of this build, in memory. The gate before a build becomes
 * current: exit code 3 if a run would get stuck.
 */
process.exitCode = await runTool(
  'replay',
  process.argv.slice(2),
  (program, withTemporal) => {
    withCommonOptions(program)
      .description(
        'Replays open runs with the workflow code of this build, and reports which would get stuck.',
      )
      .option('--open', 'the open runs of our task queues')
      .option(
        '--per-type <n>',
        'at most this many runs of each workflow type, the oldest',
        positive,
      )
      .action(
        async (options: {
          open?: boolean;
          perType?: number;
          dataDir?: string;
          json?: boolean;
        }) => {
          if (options.open !== true)
            throw new ToolError('Say what to replay: npm run replay -- --open');
          const workflowBundle = await loadWorkflowBundle();
          await withTemporal(options, async (client, dataKeys) => {
            // Only now: it would keep the process alive after a failed
            // connection.
            installTemporalRuntime(
              createLogger('replay', readConfig(['LOG_LEVEL']).LOG_LEVEL),
            );
            const dataConverter = createDataConverter(parseKeyRing(dataKeys));
            const { perType: perTypeMax } = options;
            return replayReport(
              await replayOpenRuns(client, {
                workflowBundle,
                dataConverter,
                perTypeMax,
              }),
            );
          });
        },
      );
  },
);

function positive(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new InvalidArgumentError('Give a whole number of at least 1.');
}
