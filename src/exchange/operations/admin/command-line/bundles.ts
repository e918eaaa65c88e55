import type { Command } from 'commander';
import { wholeNumber } from '../../../../lib/option-values.ts';
import {
  addBundleCommand,
  deleteBundleCommand,
  listBundlesCommand,
  refreshBundleCommand,
  showBundleCommand,
} from '../bundles.ts';
import type { RunAdmin } from './run-admin.ts';
import { withAdminOptions } from './shared-options.ts';

/** The trust bundles of Direct. */
export function addBundleCommands(program: Command, run: RunAdmin): void {
  const bundles = program
    .command('bundles')
    .description('Trust bundles of Direct: whom own providers trust');

  withAdminOptions(bundles.command('add'))
    .description('Read a trust bundle now and again and again, in a workflow')
    .argument('<name>', 'name of the bundle, such as directtrust')
    .requiredOption(
      '--from <address>',
      'https address (.p7b, .p7m), or a file that workers can read',
    )
    .option(
      '--signed-by <file>',
      'PEM of who must have signed it, or of its authority; then http will do, too',
    )
    .option(
      '--every-hours <n>',
      'how often (default: 24)',
      wholeNumber(1, 720),
      24,
    )
    .action(run(addBundleCommand));

  withAdminOptions(bundles.command('refresh'))
    .description('Read a trust bundle now')
    .argument('<name>', 'name of the bundle')
    .action(run(refreshBundleCommand));

  withAdminOptions(bundles.command('list'))
    .description('List the trust bundles, and when each was read')
    .action(run(listBundlesCommand));

  withAdminOptions(bundles.command('show'))
    .description('Show the anchors of a trust bundle, and what was refused')
    .argument('<name>', 'name of the bundle')
    .action(run(showBundleCommand));

  withAdminOptions(bundles.command('delete'))
    .description('Delete a trust bundle that no mailbox names')
    .argument('<name>', 'name of the bundle')
    .action(run(deleteBundleCommand));
}
