import { ConfigError } from '../../../config.ts';
import { SOURCE_TYPES } from '../../../contract/primitives.ts';
import { SCOPES } from '../../../contract/scope.ts';
import {
  type CommandOutcome,
  runCommandLine,
} from '../../../lib/command-line.ts';
import { addCommands, type CommandAction } from '../../../lib/command-table.ts';
import {
  EXIT,
  EXIT_CODES_HELP,
  type ExitCode,
} from '../../../lib/exit-codes.ts';
import { renderTable } from '../../../lib/table.ts';
import { isConnectionFault } from '../../platform/database/postgres-errors.ts';
import {
  CONNECTION_AUTH,
  InvalidConnection,
} from '../../sources/connections/connection-options.ts';
import {
  changeAccountCommand,
  createAccountCommand,
  createFacilityCommand,
  labelCodesCommand,
  listAccountsCommand,
  listFacilitiesCommand,
} from './accounts.ts';
import {
  acceptLossCommand,
  copyHeadsCommand,
  exportAuditCommand,
  verifyAuditCommand,
} from './audit.ts';
import { copyBlobsCommand, verifyBlobsCommand } from './blobs.ts';
import {
  listClientsCommand,
  registerClientCommand,
  revokeClientCommand,
} from './clients.ts';
import { AdminError, type AdminResult, type AdminTarget } from './command.ts';
import table from './commands.json' with { type: 'json' };
import {
  checkConnectionCommand,
  createConnectionCommand,
  deleteConnectionCommand,
  enableConnectionCommand,
  listConnectionsCommand,
  registerConnectionCommand,
  rotateConnectionCommand,
  setConnectionCommand,
  showConnectionCommand,
} from './connections.ts';
import { disclosuresCommand } from './disclosures.ts';
import {
  createKeyCommand,
  listKeysCommand,
  listSigningKeysCommand,
  revokeEmbedTokenCommand,
  revokeKeyCommand,
  rotateSigningKeysCommand,
} from './keys.ts';
import { opsCommand } from './ops.ts';
import {
  listReconcileCommand,
  pauseReconcileCommand,
  resumeReconcileCommand,
} from './reconcile.ts';
import {
  liftHoldCommand,
  listHoldsCommand,
  placeHoldCommand,
  retentionReportCommand,
  runRetentionCommand,
  setRetentionCommand,
} from './retention.ts';
import {
  checkSenderCommand,
  decideMessageCommand,
  listUnmatchedCommand,
} from './senders.ts';
import {
  decideCandidateCommand,
  listCandidatesCommand,
  listSourcesCommand,
  pauseSourceCommand,
  resumeSourceCommand,
} from './sources.ts';

export interface CommonOptions {
  dataDir?: string;
}

export interface AdminSurroundings {
  /** Writes to stdout. The next write waits until this one has completed. */
  write(text: string): void | Promise<void>;
  writeError(text: string): void;
  /**
   * Opens the database that the commands work on. Throws ConfigError or
   * AdminError with a message that states what to do.
   */
  open(options: CommonOptions): Promise<AdminTarget>;
}

type Admin = (
  target: AdminTarget,
  ...given: Parameters<CommandAction>
) => Promise<AdminResult>;

/**
 * A command gets the target, its arguments and its options without those that
 * all commands have.
 */
const COMMANDS: Readonly<
  Record<Exclude<keyof typeof table.commands, 'blobs copy'>, Admin>
> = {
  'accounts create': createAccountCommand,
  'accounts list': listAccountsCommand,
  'accounts set': changeAccountCommand,
  'facilities create': createFacilityCommand,
  'facilities list': (target, { account }) =>
    listFacilitiesCommand(target, account),
  'keys create': createKeyCommand,
  'keys list': (target, { account }) => listKeysCommand(target, account),
  'keys revoke': revokeKeyCommand,
  'clients register': registerClientCommand,
  'clients list': (target, { account }) => listClientsCommand(target, account),
  'clients revoke': revokeClientCommand,
  'embed-tokens revoke': revokeEmbedTokenCommand,
  'sources list': listSourcesCommand,
  'sources pause': pauseSourceCommand,
  'sources resume': resumeSourceCommand,
  ops: opsCommand,
  'notifications unmatched': listUnmatchedCommand,
  'notifications accept': decideMessageCommand('accepted'),
  'notifications refuse': decideMessageCommand('refused'),
  'senders check': checkSenderCommand,
  'accounts label': labelCodesCommand,
  'reconcile list': listReconcileCommand,
  'reconcile pause': pauseReconcileCommand,
  'reconcile resume': resumeReconcileCommand,
  'connections create': createConnectionCommand,
  'connections list': (target, { account }) =>
    listConnectionsCommand(target, account),
  'connections show': showConnectionCommand,
  'connections register': registerConnectionCommand,
  'connections check': (target, id, { patient }) =>
    checkConnectionCommand(target, id, patient),
  'connections rotate': rotateConnectionCommand,
  'connections set': setConnectionCommand,
  'connections pause': (target, id) =>
    enableConnectionCommand(target, id, false),
  'connections resume': (target, id) =>
    enableConnectionCommand(target, id, true),
  'connections delete': deleteConnectionCommand,
  'signing-keys list': listSigningKeysCommand,
  'signing-keys rotate': (target, { atOnce }) =>
    rotateSigningKeysCommand(target, atOnce === true),
  'candidates list': listCandidatesCommand,
  'candidates accept': decideCandidateCommand('accepted'),
  'candidates refuse': decideCandidateCommand('refused'),
  'holds place': placeHoldCommand,
  'holds list': (target, { account }) => listHoldsCommand(target, account),
  'holds lift': liftHoldCommand,
  'disclosures report': disclosuresCommand,
  'retention report': retentionReportCommand,
  'retention set': setRetentionCommand,
  'retention run': runRetentionCommand,
  'audit export': exportAuditCommand,
  'audit verify': (target, { account }) => verifyAuditCommand(target, account),
  'audit copy-heads': copyHeadsCommand,
  'audit accept-loss': acceptLossCommand,
  'blobs verify': verifyBlobsCommand,
};

/**
 * Runs one command line of `npm run admin` (without `node` and the script) and
 * returns the exit code. Never rejects.
 */
export const runAdmin = (
  argv: readonly string[],
  { open, write, writeError }: AdminSurroundings,
): Promise<ExitCode> =>
  runCommandLine(argv, {
    name: 'admin',
    out: write,
    err: writeError,
    describe,
    define(program, print) {
      program
        .description(table.description)
        .showHelpAfterError('(use --help to show the options)')
        .addHelpText(
          'after',
          `\n${table.about.join('\n')}\n\n${EXIT_CODES_HELP}`,
        );
      addCommands(
        program,
        table,
        { vocabulary: VOCABULARY },
        (name) =>
          async (...given) => {
            // Commander adds itself after the arguments and the options.
            const args = given.slice(0, -2);
            const { dataDir, json: _, ...options } = given.at(-2);
            if (name === 'blobs copy')
              return print(
                outcomeOf(
                  await copyBlobsCommand(options, (line) =>
                    writeError(`${line}\n`),
                  ),
                ),
              );
            const target = await open({ dataDir });
            try {
              await print(
                outcomeOf(await COMMANDS[name](target, ...args, options)),
              );
            } finally {
              await target.store.close();
            }
          },
      );
    },
  });

const VOCABULARY = { CONNECTION_AUTH, SCOPES, SOURCE_TYPES };

function outcomeOf({
  document,
  lines = [],
  table: rows,
  stream,
  failed,
}: AdminResult): CommandOutcome {
  const shown =
    rows === undefined
      ? lines
      : [...renderTable(rows.head, rows.rows), ...lines];
  return {
    exitCode: failed === true ? EXIT.partial : EXIT.done,
    document,
    lines: shown,
    stream,
  };
}

function describe(error: unknown): { message: string; exitCode: ExitCode } {
  const isAsked = [AdminError, ConfigError, InvalidConnection].some(
    (type) => error instanceof type,
  );
  if (isAsked)
    return { message: (error as Error).message, exitCode: EXIT.usage };
  return { message: faultOf(error), exitCode: EXIT.error };
}

function faultOf(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  if (isConnectionFault(error))
    return `The database cannot be reached (${String(code ?? (error as Error).message)}); check that it is running and that DATABASE_URL is right.`;
  if (code === '42P01' || code === '42703')
    return 'The database schema is out of date; update it with: npm run migrate';
  return error instanceof Error ? error.message : 'Unknown error';
}
