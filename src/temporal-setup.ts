import { runTool, withCommonOptions } from './deployment/run-tool.ts';
import { registerSearchAttributes } from './temporal/register-search-attributes.ts';

/**
 * `npm run temporal-setup`: prepares a Temporal namespace once, with an account
 * that may. Safe to repeat.
 */
process.exitCode = await runTool(
  'temporal-setup',
  process.argv.slice(2),
  (program, withTemporal) => {
    withCommonOptions(program)
      .description(
        'Registers our search attributes in the Temporal namespace. Safe to repeat.',
      )
      .action((options) =>
        withTemporal(options, async (client) => {
          const { namespace } = client.options;
          await registerSearchAttributes(client.connection, namespace);
          const lines = [`Namespace ${namespace} has our search attributes.`];
          return { lines, document: { namespace } };
        }),
      );
  },
);
