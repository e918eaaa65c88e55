import { Command, CommanderError } from 'commander';
import { SOURCE_TYPES } from '../../../contract/primitives.ts';
import { SCOPES } from '../../../contract/scope.ts';
import { addCommands, type CommandAction } from '../../../lib/command-table.ts';
import { CONNECTION_AUTH } from '../../sources/connections/connection-options.ts';
import { changeAccountCommand, createAccountCommand, listAccountsCommand } from './accounts.ts';
import { acceptLossCommand, copyHeadsCommand, exportAuditCommand, verifyAuditCommand } from './audit.ts';
import { copyBlobsCommand, verifyBlobsCommand } from './blobs.ts';
import { decideCandidateCommand, listCandidatesCommand } from './candidates.ts';
import { listClientsCommand, registerClientCommand, revokeClientCommand } from './clients.ts';
import type { AdminResult, AdminTarget } from './command.ts';
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
import { createFacilityCommand, listFacilitiesCommand } from './facilities.ts';
import { liftHoldCommand, listHoldsCommand, placeHoldCommand } from './holds.ts';
import {
  createKeyCommand,
  listKeysCommand,
  listSigningKeysCommand,
  revokeEmbedTokenCommand,
  revokeKeyCommand,
  rotateSigningKeysCommand,
} from './keys.ts';
import { listReconcileCommand, pauseReconcileCommand, resumeReconcileCommand } from './reconcile.ts';
import { retentionReportCommand, runRetentionCommand, setRetentionCommand } from './retention.ts';
import { listSourcesCommand, pauseSourceCommand, resumeSourceCommand } from './sources.ts';

export interface CommonOptions {
  dataDir?: string;
}

export interface AdminProgramOptions {
  /** Opens the target of a command, runs it, and prints its result. */
  run(options: CommonOptions, command: (target: AdminTarget) => Promise<AdminResult>): Promise<void>;
  /** Runs a command that needs no database, and prints its result. */
  runAlone(command: () => Promise<AdminResult>): Promise<void>;
  out(text: string): void;
  err(text: string): void;
}

type Admin = (target: AdminTarget, ...given: Parameters<CommandAction>) => Promise<AdminResult>;

/** A command gets the target, its arguments and its options without those that all commands have. */
const COMMANDS: Readonly<Record<Exclude<keyof typeof table.commands, 'blobs copy'>, Admin>> = {
  'accounts create': createAccountCommand,
  'accounts list': listAccountsCommand,
  'accounts set': changeAccountCommand,
  'facilities create': createFacilityCommand,
  'facilities list': (target, { account }) => listFacilitiesCommand(target, account),
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
  'reconcile list': listReconcileCommand,
  'reconcile pause': pauseReconcileCommand,
  'reconcile resume': resumeReconcileCommand,
  'connections create': createConnectionCommand,
  'connections list': (target, { account }) => listConnectionsCommand(target, account),
  'connections show': showConnectionCommand,
  'connections register': registerConnectionCommand,
  'connections check': (target, id, { patient }) => checkConnectionCommand(target, id, patient),
  'connections rotate': rotateConnectionCommand,
  'connections set': setConnectionCommand,
  'connections pause': (target, id) => enableConnectionCommand(target, id, false),
  'connections resume': (target, id) => enableConnectionCommand(target, id, true),
  'connections delete': deleteConnectionCommand,
  'signing-keys list': listSigningKeysCommand,
  'signing-keys rotate': (target, { atOnce }) => rotateSigningKeysCommand(target, atOnce === true),
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

/** The command line of `npm run admin`, as `commands.json` describes it. */
export function createAdminProgram({ run, runAlone, out, err }: AdminProgramOptions): Command {
  const program = new Command('admin')
    .description(table.description)
    .exitOverride()
    .configureOutput({ writeOut: out, writeErr: err })
    .showHelpAfterError('(use --help to show the options)')
    .addHelpText('after', `\n${table.about.join('\n')}`);
  const vocabulary = { CONNECTION_AUTH, SCOPES, SOURCE_TYPES };
  addCommands(program, table, { vocabulary }, (name) => (...given) => {
    // Commander adds itself after the arguments and the options.
    const [args, { dataDir, json: _, ...options }] = [given.slice(0, -2), given.at(-2)];
    if (name === 'blobs copy') return runAlone(() => copyBlobsCommand(options, (line) => err(`${line}\n`)));
    return run({ dataDir }, (target) => COMMANDS[name](target, ...args, options));
  });
  return program;
}

export const isUsageError = (error: unknown): error is CommanderError => error instanceof CommanderError;
