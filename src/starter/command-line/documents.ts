import { type Command, Option } from 'commander';
import { DOCUMENT_FORMATS } from '../../contract/documents.ts';
import { examples } from '../../lib/command-line.ts';
import { wholeNumber } from '../../lib/option-values.ts';
import { documents } from '../commands/documents.ts';
import { embed } from '../commands/embed.ts';
import {
  healthLinkCreate,
  healthLinkList,
  healthLinkRevoke,
} from '../commands/health-links.ts';
import type { RunStarter } from './run-starter.ts';
import { withStarterOptions } from './shared-options.ts';

/** A patient's documents, page and health links. */
export function addDocumentCommands(program: Command, run: RunStarter): void {
  withStarterOptions(program.command('documents'))
    .description("List a patient's documents; with --out, download them")
    .argument('<patientId>', 'id of the patient')
    .option('--out <folder>', 'download the documents into this folder')
    .addOption(
      new Option(
        '--format <format>',
        'convert C-CDA documents to this format; other documents are not converted',
      ).choices(DOCUMENT_FORMATS),
    )
    .option('--from <date>', 'first day to include (YYYY-MM-DD)')
    .option('--to <date>', 'last day to include (YYYY-MM-DD)')
    .option(
      '--content <text>',
      'only documents with this text in the title, description, type or category',
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- documents 0198f1c2-…',
        'npm run starter -- documents 0198f1c2-… --out papers --format pdf',
        'npm run starter -- documents 0198f1c2-… --from 2024-01-01 --content discharge --json',
      ),
    )
    .action(run(documents));

  withStarterOptions(program.command('embed'))
    .description(
      "Print the address of a patient's embedded page, with an access token",
    )
    .argument('<patientId>', 'id of the patient')
    .option(
      '--seconds <n>',
      'lifetime of the token (default and maximum: 36000)',
      wholeNumber(1, 36000),
    )
    .addHelpText(
      'after',
      examples(
        'npm run starter -- embed 0198f1c2-…',
        'npm run starter -- embed 0198f1c2-… --seconds 600 --json',
      ),
    )
    .action(run(embed));

  const healthLink = program.command('health-link');

  withStarterOptions(healthLink.command('create'))
    .description("Create a SMART Health Link to a patient's summary")
    .argument('<patientId>', 'id of the patient')
    .option(
      '--passcode <text>',
      'ask whoever opens it for this passcode: at least 6 characters',
    )
    .option(
      '--expires <seconds>',
      'lifetime (default: 604800, a week)',
      wholeNumber(1, 31536000),
    )
    .option('--once', 'end it when it has been opened')
    .option(
      '--label <text>',
      'shown by whoever opens it; no name, no diagnosis',
    )
    .option('--qr <file>', 'write its QR picture (SVG) to this file')
    .addHelpText(
      'after',
      examples(
        'npm run starter -- health-link create 0198f1c2-…',
        'npm run starter -- health-link create 0198f1c2-… --passcode tulip-43-harbour --expires 86400 --qr link.svg',
        'npm run starter -- health-link create 0198f1c2-… --once --json',
      ),
    )
    .action(run(healthLinkCreate));

  withStarterOptions(healthLink.command('list'))
    .description("List a patient's health links, and who opened them")
    .argument('<patientId>', 'id of the patient')
    .addHelpText(
      'after',
      examples('npm run starter -- health-link list 0198f1c2-…'),
    )
    .action(run(healthLinkList));

  withStarterOptions(healthLink.command('revoke'))
    .description('End a health link')
    .argument('<patientId>', 'id of the patient')
    .argument('<linkId>', 'id of the link, from "health-link list"')
    .addHelpText(
      'after',
      examples('npm run starter -- health-link revoke 0198f1c2-… 0198f1c5-…'),
    )
    .action(run(healthLinkRevoke));
}
