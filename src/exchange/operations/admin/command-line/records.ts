import type { Command } from 'commander';
import { parseInstant } from '../../../../lib/option-values.ts';
import {
  acceptLossCommand,
  copyHeadsCommand,
  exportAuditCommand,
  verifyAuditCommand,
} from '../audit.ts';
import { copyBlobsCommand, verifyBlobsCommand } from '../blobs.ts';
import { disclosuresCommand } from '../disclosures.ts';
import { packsStatusCommand, setPacksCommand } from '../packs.ts';
import {
  liftHoldCommand,
  listHoldsCommand,
  placeHoldCommand,
  retentionReportCommand,
  runRetentionCommand,
  setRetentionCommand,
} from '../retention.ts';
import type { RunAdmin, RunCopying } from './run-admin.ts';
import {
  withAccount,
  withAdminOptions,
  withStatement,
} from './shared-options.ts';

/** Legal holds, disclosures, retention, packs, audit and blobs. */
export function addAdminRecordCommands(
  program: Command,
  run: RunAdmin,
  runWithoutDatabase: RunCopying,
): void {
  const holds = program.command('holds').description('Legal holds on patients');

  withStatement(withAccount(withAdminOptions(holds.command('place'))))
    .description('Keep a patient and everything about the patient')
    .requiredOption('--patient <id>', 'id of the patient')
    .action(run(placeHoldCommand));

  withAccount(withAdminOptions(holds.command('list')))
    .description('List the holds in force')
    .action(run((target, { account }) => listHoldsCommand(target, account)));

  withStatement(withAdminOptions(holds.command('lift')))
    .description('End a hold; other holds on the same patient stay in force')
    .argument('<hold>', 'id of the hold')
    .action(run(liftHoldCommand));

  const disclosures = program
    .command('disclosures')
    .description('Who was given the data of a patient');

  withAccount(withAdminOptions(disclosures.command('report')))
    .description('Accounting of disclosures of a patient, as CSV (or --json)')
    .requiredOption(
      '--patient <id>',
      'id of the patient, who may have been deleted',
    )
    .option(
      '--from <time>',
      'first time, inclusive: 2026-11-21 (UTC) or 2026-11-21T12:00:00Z (default: 6 years back)',
      parseInstant,
    )
    .option(
      '--to <time>',
      'last time, exclusive, in the same format (default: now)',
      parseInstant,
    )
    .action(run(disclosuresCommand));

  const retention = program
    .command('retention')
    .description('How long data is kept');

  withAdminOptions(retention.command('report'))
    .description(
      'Show the rule of each kind of data, and what it would remove now',
    )
    .action(run(retentionReportCommand));

  withStatement(withAdminOptions(retention.command('set')))
    .description('Set how long a kind of data is kept, in all accounts')
    .argument('<kind>', 'kind of data, from "retention report"')
    .option(
      '--days <n>',
      'number of days after which it is removed, at least 30',
    )
    .option('--forever', 'keep it for ever, as without a rule')
    .action(run(setRetentionCommand));

  withAdminOptions(retention.command('run'))
    .description('Apply the rules now; workers do it once a day')
    .option('--dry-run', 'only show what would be removed')
    .action(run(runRetentionCommand));

  const packs = program
    .command('packs')
    .description('Contents of records, compressed together');

  withAdminOptions(packs.command('status'))
    .description('Show what is done with packs, and how far it is')
    .action(run(packsStatusCommand));

  withStatement(withAdminOptions(packs.command('on')))
    .description('Pack records at rest, once every process is of this build')
    .action(run(setPacksCommand('pack')));

  withStatement(withAdminOptions(packs.command('off')))
    .description('Pack no further records')
    .action(run(setPacksCommand('off')));

  withStatement(withAdminOptions(packs.command('undo')))
    .description('Take all records out of packs again')
    .action(run(setPacksCommand('unpack')));

  const audit = program
    .command('audit')
    .description('The audit trail of an account');

  withAccount(withAdminOptions(audit.command('export')))
    .description('Export the audit as FHIR AuditEvents (NDJSON), oldest first')
    .option(
      '--from <time>',
      'first time, inclusive: 2026-11-21 (UTC) or 2026-11-21T12:00:00Z',
      parseInstant,
    )
    .option(
      '--to <time>',
      'last time, exclusive, in the same format',
      parseInstant,
    )
    .option('--out <file>', 'write to a new file instead of stdout')
    .action(run(exportAuditCommand));

  withAdminOptions(audit.command('verify'))
    .description(
      'Verify that no entry was changed or removed; reports the first fault',
    )
    .option('--account <id>', 'verify this account only')
    .action(run((target, { account }) => verifyAuditCommand(target, account)));

  withAdminOptions(audit.command('copy-heads'))
    .description(
      'Copy the newest external heads to another AUDIT_HEADS; stop the workers first',
    )
    .requiredOption(
      '--from <address>',
      'file:///a/folder or s3://bucket/prefix',
    )
    .requiredOption('--to <address>', 'the same')
    .action(run(copyHeadsCommand));

  withAdminOptions(audit.command('accept-loss'))
    .description(
      'After a restore from a backup: accept the entries written since the backup as lost',
    )
    .option('--account <id>', 'accept the loss of this account')
    .option('--all', 'accept the losses of all accounts')
    .requiredOption(
      '--by <name>',
      'your name; recorded permanently in the audit',
    )
    .requiredOption(
      '--reason <text>',
      'which restore and why, without patient data; recorded permanently',
    )
    .action(run(acceptLossCommand));

  const blobs = program
    .command('blobs')
    .description('The stored content of documents, uploads and results');

  withAdminOptions(blobs.command('verify'))
    .description(
      'Compare the blobs with the rows that refer to them; needs BLOB_STORE',
    )
    .action(run(verifyBlobsCommand));

  blobs
    .command('copy')
    .description(
      'Copy a blob store, or ORCHESTRATOR_FILES, to another folder or bucket; may be repeated. Needs no database',
    )
    .requiredOption(
      '--from <address>',
      'file:///a/folder or s3://bucket/prefix',
    )
    .requiredOption(
      '--to <address>',
      'the same; blobs that are there already are kept',
    )
    .option('--dry-run', 'only count what would be copied')
    .option(
      '--verify',
      'read every blob again on both sides, and compare the content',
    )
    .option('--json', 'print one JSON document to stdout')
    .action(runWithoutDatabase(copyBlobsCommand));
}
