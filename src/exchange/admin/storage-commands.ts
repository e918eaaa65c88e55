import type { Command } from 'commander';
import { acceptLossCommand, exportAuditCommand, verifyAuditCommand } from './audit.ts';
import { copyHeadsCommand } from './audit-heads.ts';
import { copyBlobsCommand, verifyBlobsCommand } from './blobs.ts';
import { ofAccount, type RunAlone, type RunCommand, subcommand } from './subcommand.ts';

/** `blobs …` */
export function addBlobCommands(
  blobs: Command,
  run: RunCommand,
  runAlone: RunAlone,
  err: (text: string) => void,
): void {
  subcommand(blobs, 'verify', 'Compare the blobs with the rows that refer to them; needs BLOB_STORE').action(
    (options) => run(options, verifyBlobsCommand),
  );
  blobs
    .command('copy')
    .description(
      'Copy a blob store, or ORCHESTRATOR_FILES, to another folder or bucket; may be repeated. Needs no database',
    )
    .requiredOption('--from <address>', 'file:///a/folder or s3://bucket/prefix')
    .requiredOption('--to <address>', 'the same; blobs that are there already are kept')
    .option('--dry-run', 'only count what would be copied')
    .option('--verify', 'read every blob again on both sides, and compare the content')
    .option('--json', 'print one JSON document to stdout')
    .action((options) => runAlone(() => copyBlobsCommand(options, (line) => err(`${line}\n`))));
}

/** `audit …` */
export function addAuditCommands(audit: Command, run: RunCommand): void {
  ofAccount(subcommand(audit, 'export', 'Export the audit as FHIR AuditEvents (NDJSON), oldest first'))
    .option('--from <time>', 'first time, inclusive: 2026-11-21 (UTC) or 2026-11-21T12:00:00Z')
    .option('--to <time>', 'last time, exclusive, in the same format')
    .option('--out <file>', 'write to a new file instead of stdout')
    .action((options) => run(options, (target) => exportAuditCommand(target, options)));
  subcommand(audit, 'verify', 'Verify that no entry was changed or removed; reports the first fault')
    .option('--account <id>', 'verify this account only')
    .action((options) => run(options, (target) => verifyAuditCommand(target, options.account)));
  subcommand(
    audit,
    'copy-heads',
    'Copy the newest external heads to another AUDIT_HEADS; stop the workers first',
  )
    .requiredOption('--from <address>', 'file:///a/folder or s3://bucket/prefix')
    .requiredOption('--to <address>', 'the same')
    .action((options) => run(options, (target) => copyHeadsCommand(target, options)));
  subcommand(
    audit,
    'accept-loss',
    'After a restore from a backup: accept the entries written since the backup as lost',
  )
    .option('--account <id>', 'accept the loss of this account')
    .option('--all', 'accept the losses of all accounts')
    .requiredOption('--by <name>', 'your name; recorded permanently in the audit')
    .requiredOption('--reason <text>', 'which restore and why, without patient data; recorded permanently')
    .action((options) => run(options, (target) => acceptLossCommand(target, options)));
}
