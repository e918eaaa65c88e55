import { type Command, Option } from 'commander';
import { SOURCE_TYPES } from '../../contract/primitives.ts';
import { examples } from '../../lib/command-line.ts';
import { oneOf, parseInstant, wholeNumber } from '../../lib/option-values.ts';
import { onboard } from '../commands/onboard.ts';
import { cancel, query, retry, showStatus } from '../commands/query.ts';
import { redrive } from '../commands/redrive.ts';
import {
  parseJobId,
  parseSeconds,
  parseSources,
  SUBJECT_KINDS,
} from '../input/arguments.ts';
import { PERSON_OUTCOMES } from '../target/simulated-person.ts';
import type { RunStarter } from './run-starter.ts';
import { withFollowing, withStarterOptions } from './shared-options.ts';

/** Onboardings and network queries. */
export function addWorkCommands(program: Command, run: RunStarter): void {
  withFollowing(withStarterOptions(program.command('onboard')))
    .description(
      'Onboard patients: create them, add them to cohorts, query the sources, wait for the webhooks',
    )
    .option(
      '--sample <keys...>',
      'keys of sample patients (samples/patients.json), or "all"',
    )
    .option(
      '--file <patient.json>',
      'your own patient: a JSON file with the body of "Create patient" (E4)',
    )
    .option('--cohort <ids...>', 'ids of cohorts to add the patients to')
    .addOption(
      new Option('--sources <names>', 'sources to query, separated by commas')
        .argParser(parseSources)
        .default(['hie', 'pharmacy', 'lab'], 'hie,pharmacy,lab'),
    )
    .option(
      '--realtime',
      'query the pharmacy source in real time; the exchange limits how many such queries a day it allows',
    )
    .option(
      '--ias',
      'individual access: the patient verifies their identity before any source is queried',
    )
    .option(
      '--redirect-url <url>',
      "with --ias: page that the patient returns to (default: a page of the stack's receiver)",
    )
    .addOption(
      new Option(
        '--simulate-person [outcome]',
        "with --ias: act as the patient at the stack's simulated identity partner",
      )
        .choices(PERSON_OUTCOMES)
        .preset('verified'),
    )
    .option(
      '--job <id>',
      'your id for this job; the same id always means the same onboarding (default: a new id)',
      parseJobId,
    )
    .option(
      '--at-once <n>',
      'how many onboardings run at the same time, up to 40',
      wholeNumber(1, 40),
      40,
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- onboard --sample keith-kiehn',
        'npm run starter -- onboard --sample all --sources hie,lab --no-wait',
        'npm run starter -- onboard --file patient.json --job admission-4711 --json',
        'npm run starter -- onboard --sample keith-kiehn --ias',
        'npm run starter -- onboard --sample keith-kiehn --ias --simulate-person',
      ),
    )
    .action(run(onboard));

  withFollowing(withStarterOptions(program.command('query')))
    .description(
      'Start a network query for a patient of the exchange, and follow it',
    )
    .argument('<patientId>', 'id of the patient')
    .addOption(
      new Option('--sources <names>', 'sources to query, separated by commas')
        .argParser(parseSources)
        .default(['hie', 'pharmacy', 'lab'], 'hie,pharmacy,lab'),
    )
    .option(
      '--realtime',
      'query the pharmacy source in real time; the exchange limits how many such queries a day it allows',
    )
    .addOption(
      new Option('--purpose <use>', 'purpose of use')
        .choices(['treatment', 'ias'])
        .default('treatment'),
    )
    .option(
      '--explain',
      'show which gateways of a network would be asked, and ask none',
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- query 0198f1c2-… --explain',
        'npm run starter -- query 0198f1c2-… --sources hie,pharmacy',
        'npm run starter -- query 0198f1c2-… --sources pharmacy --realtime --timeout 60',
        'API_KEY=… npm run starter -- query 0198f1c2-… --base-url https://exchange.example',
      ),
    )
    .action(run(query));

  withStarterOptions(program.command('status'))
    .description(
      'Show the state of a query or an onboarding, with its attempts and timeline',
    )
    .argument(
      '<id>',
      'request id of a query, or job id (or workflow id) of an onboarding',
    )
    .option('--gateways', 'list the gateways of networks that a query asks')
    .option('--wait', 'follow the work until it ends', false)
    .option(
      '--timeout <seconds>',
      'with --wait: stop following after this time; the work continues',
      parseSeconds,
    )
    .addOption(
      new Option(
        '--as <kind>',
        'kind of the id, if it could be either',
      ).choices(SUBJECT_KINDS),
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- status 0198f1c2-…',
        'npm run starter -- status 0198f1c2-… --gateways',
        'npm run starter -- status admission-4711 --wait',
        'npm run starter -- status admission-4711 --json',
        'npm run starter -- status patient-onboarding/5d41402abc4b2a76b9719d911017c592',
      ),
    )
    .action(run(showStatus));

  withFollowing(withStarterOptions(program.command('retry')))
    .description(
      'Retry one source of a query, while the query runs or after it has ended, and follow it',
    )
    .argument('<requestId>', 'request id of the query')
    .argument('<source>', SOURCE_TYPES.join(', '), oneOf(SOURCE_TYPES))
    .addHelpText(
      'after',
      examples(
        'npm run starter -- retry 0198f1c2-… pharmacy',
        'npm run starter -- retry 0198f1c2-… lab --no-wait',
      ),
    )
    .action(run(retry));

  withFollowing(withStarterOptions(program.command('redrive')))
    .description(
      'Retry one source of all queries that failed in a given time, and follow it; or follow or cancel such a redrive',
    )
    .argument(
      '[redriveId]',
      'id of a redrive, to follow it or with --cancel to cancel it',
    )
    .option('--source <source>', SOURCE_TYPES.join(', '), oneOf(SOURCE_TYPES))
    .option(
      '--from <time>',
      'only queries whose source failed at or after this time',
      parseInstant,
    )
    .option(
      '--to <time>',
      'only queries whose source failed before this time (default: now)',
      parseInstant,
    )
    .option('--reason <text>', 'only queries whose failure contains this text')
    .option('--dry-run', 'only count the queries')
    .option(
      '--cancel',
      'retry no further queries; those already retried continue',
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- redrive --source lab --from 2026-11-21T22:00:00Z --to 2026-11-22T04:00:00Z --dry-run',
        'npm run starter -- redrive --source lab --from 2026-11-21T22:00:00Z --reason 401',
        'npm run starter -- redrive 0198f1c2-… --cancel',
      ),
    )
    .action(run(redrive));

  withFollowing(withStarterOptions(program.command('cancel')))
    .description('Cancel a query, one source of a query, or an onboarding')
    .argument(
      '<id>',
      'request id of a query, or job id (or workflow id) of an onboarding',
    )
    .option(
      '--source <source>',
      'cancel only this source of the query',
      oneOf(SOURCE_TYPES),
    )
    .addOption(
      new Option(
        '--as <kind>',
        'kind of the id, if it could be either',
      ).choices(SUBJECT_KINDS),
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- cancel 0198f1c2-…',
        'npm run starter -- cancel 0198f1c2-… --source hie',
        'npm run starter -- cancel admission-4711',
      ),
    )
    .action(run(cancel));
}
