import { Command } from 'commander';
import { EXIT_USAGE } from '../src/lib/process.ts';
import { takeRunFolder } from '../test/support/run-folder.ts';
import { actionsCommand } from './actions/command.ts';
import { bulkCommand, bulkEngineCommand } from './bulk/command.ts';
import { ccdaCommand } from './ccda/command.ts';
import { documentsCommand } from './documents/command.ts';
import { exportCommand, viewsCommand } from './export/command.ts';
import { fanOutCommand } from './fan-out/command.ts';
import { gatewayCommand } from './gateway/command.ts';
import { growthCommand } from './growth/command.ts';
import { iheCommand } from './ihe/command.ts';
import { interactiveCommand } from './interactive/command.ts';
import { latencyCommand } from './latency/command.ts';
import { matchingCommand } from './matching/command.ts';
import { mergeCommand } from './merge/command.ts';
import { peersCommand } from './peers/command.ts';
import { pureCommand, queryCommand } from './query/command.ts';
import { recordGrowthCommand } from './record-growth/command.ts';
import {
  firstSummaryCommand,
  largeRecordCommand,
  pageOneCommand,
  recordsCommand,
} from './records/command.ts';
import { webhooksCommand } from './webhooks/command.ts';

/** `npm run bench`: one command for each benchmark. */
const program = new Command('npm run bench --').description(
  'Measure two variants side by side in one run. Compare the ratios, not the absolute rates.',
);
program.addCommand(queryCommand, { isDefault: true });
program.addCommand(pureCommand);
program.addCommand(bulkCommand);
program.addCommand(bulkEngineCommand);
program.addCommand(ccdaCommand);
program.addCommand(growthCommand);
program.addCommand(recordGrowthCommand);
program.addCommand(iheCommand);
program.addCommand(fanOutCommand);
program.addCommand(interactiveCommand);
program.addCommand(latencyCommand);
program.addCommand(mergeCommand);
program.addCommand(recordsCommand);
program.addCommand(largeRecordCommand);
program.addCommand(firstSummaryCommand);
program.addCommand(pageOneCommand);
program.addCommand(documentsCommand);
program.addCommand(gatewayCommand);
program.addCommand(webhooksCommand);
program.addCommand(peersCommand);
program.addCommand(actionsCommand);
program.addCommand(exportCommand);
program.addCommand(viewsCommand);
program.addCommand(matchingCommand);
// Commander's own code is 1, which says that a benchmark failed.
for (const command of [program, ...program.commands])
  command.exitOverride(({ exitCode }) =>
    process.exit(exitCode === 0 ? 0 : EXIT_USAGE),
  );
// A bench that is interrupted leaves no server behind.
await takeRunFolder();
await program.parseAsync();
