import { isGrpcServiceError } from '@temporalio/client';
import type { Command } from 'commander';
import { ConfigError, givenVariables, readConfig } from '../config.ts';
import { type CommandOutcome, runCommandLine } from '../lib/command-line.ts';
import { EXIT, EXIT_CODES_HELP, type ExitCode } from '../lib/exit-codes.ts';
import {
  NoStackError,
  readConnection,
  temporalOfStack,
} from '../local-stack/connection-file.ts';
import {
  createTemporalClient,
  TEMPORAL_VARIABLES,
  type TemporalClient,
  type TemporalConfig,
} from '../temporal/client.ts';

export type ToolResult = CommandOutcome;

/**
 * Thrown when a command cannot do what was asked. The message says what to do
 * instead.
 */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

export interface ToolOptions {
  dataDir?: string;
  json?: boolean;
}

/**
 * Opens Temporal, runs `work` and closes it again. `dataKeys` decrypt what
 * `work` reads.
 */
export type WithTemporal = <O extends ToolOptions>(
  options: O,
  work: (client: TemporalClient, dataKeys: string) => Promise<ToolResult>,
) => Promise<void>;

/** Adds the options that all commands about Temporal share. */
export const withCommonOptions = (command: Command): Command =>
  command
    .option(
      '--data-dir <folder>',
      'the running embedded stack on this folder, instead of TEMPORAL_ADDRESS',
    )
    .option('--json', 'print one JSON document');

/**
 * Runs one command line of an operator's tool for Temporal and returns the exit
 * code. Never rejects.
 */
export const runTool = (
  name: string,
  argv: readonly string[],
  define: (program: Command, withTemporal: WithTemporal) => void,
): Promise<ExitCode> =>
  runCommandLine(argv, {
    name,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    describe(error) {
      const isAsked = [ConfigError, NoStackError, ToolError].some(
        (type) => error instanceof type,
      );
      const message = error instanceof Error ? error.message : String(error);
      return { message, exitCode: isAsked ? EXIT.usage : EXIT.error };
    },
    define(program, print) {
      program.addHelpText('after', `\n${EXIT_CODES_HELP}`);
      define(program, async (options, work) => {
        const target = await temporalTarget(options.dataDir);
        const { TEMPORAL_ADDRESS: address } = target;
        const client = await createTemporalClient(target).catch(
          (cause: unknown) => {
            throw grpcErrorIn(cause) === undefined
              ? new ToolError(notReached(address), { cause })
              : inPlainWords(cause, address);
          },
        );
        try {
          await print(await work(client, target.DATA_KEYS));
        } catch (error) {
          throw inPlainWords(error, address);
        } finally {
          await client.connection.close();
        }
      });
    },
  });

const notReached = (address: string, detail = ''): string =>
  `Temporal cannot be reached at ${address}${detail}. Check that it is running and that TEMPORAL_ADDRESS is correct.`;

// DEADLINE_EXCEEDED, UNAVAILABLE, and UNIMPLEMENTED: a proxy or another kind of
// server answers at the address.
const NOT_REACHED: ReadonlySet<number> = new Set([4, 14, 12]);

/**
 * A failed call of Temporal as a message that says where it failed; every other
 * error as it is.
 */
function inPlainWords(error: unknown, address: string): unknown {
  const grpc = grpcErrorIn(error);
  if (grpc === undefined) return error;
  const message = NOT_REACHED.has(grpc.code)
    ? notReached(address, ` (${grpc.details})`)
    : `Temporal at ${address} refused the call (${grpc.details}). Check TEMPORAL_NAMESPACE and the credentials.`;
  return new ToolError(message, { cause: error });
}

// The SDK wraps the gRPC error of some calls in an error that says only which
// call failed.
function grpcErrorIn(
  error: unknown,
): { code: number; details: string } | undefined {
  if (isGrpcServiceError(error)) return error;
  return error instanceof Error && error.cause !== undefined
    ? grpcErrorIn(error.cause)
    : undefined;
}

/**
 * How an operator's tool reaches Temporal: the running embedded stack on
 * `dataDir` if that is given, else the server of TEMPORAL_ADDRESS, else the
 * embedded stack on DATA_DIR. Throws ConfigError, NoStackError.
 */
async function temporalTarget(dataDir?: string): Promise<TemporalConfig> {
  if (
    dataDir === undefined &&
    givenVariables(['TEMPORAL_ADDRESS']).TEMPORAL_ADDRESS !== undefined
  )
    return readConfig(TEMPORAL_VARIABLES);
  const folder = dataDir ?? readConfig(['DATA_DIR']).DATA_DIR;
  return temporalOfStack(folder, await readConnection(folder));
}
