import { isGrpcServiceError } from '@temporalio/client';
import { Command, CommanderError } from 'commander';
import { ConfigError, givenVariables, readConfig } from '../config.ts';
import { NoStackError, readConnection } from '../starter/local-stack/connection-file.ts';
import { ensureSecrets } from '../starter/local-stack/stack-secrets.ts';
import {
  createTemporalClient,
  TEMPORAL_VARIABLES,
  type TemporalClient,
  type TemporalConfig,
} from '../temporal/client.ts';

export const EXIT = { done: 0, error: 1, refused: 2, failed: 3 } as const;
export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** What a command wants to be printed: lines for people, one document for `--json`. */
export interface ToolResult {
  exit: Exit;
  lines: readonly string[];
  document: unknown;
}

/** Thrown when a command cannot do what was asked. The message says what to do instead. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
}

export interface CommonOptions {
  dataDir?: string;
  json?: boolean;
}

/** Opens Temporal, runs `work` and closes it again. `dataKeys` decrypt what `work` reads. */
export type WithTemporal = <O extends CommonOptions>(
  options: O,
  work: (client: TemporalClient, dataKeys: string) => Promise<ToolResult>,
) => Promise<void>;

/** Adds the options that all commands about Temporal share. */
export const withCommonOptions = (command: Command): Command =>
  command
    .option('--data-dir <folder>', 'the running embedded stack on this folder, instead of TEMPORAL_ADDRESS')
    .option('--json', 'print one JSON document');

/** Runs one command line of an operator's tool for Temporal and returns the exit code. Never rejects. */
export async function runTool(
  name: string,
  argv: readonly string[],
  define: (program: Command, withTemporal: WithTemporal) => void,
): Promise<number> {
  let exit: number = EXIT.done;
  const print = (text: string) => void process.stdout.write(`${text}\n`);
  const withTemporal: WithTemporal = async (options, work) => {
    const target = await temporalTarget(options.dataDir);
    const { TEMPORAL_ADDRESS: address } = target;
    const client = await createTemporalClient(target).catch((cause: unknown) => {
      throw grpcErrorIn(cause) === undefined
        ? new ToolError(notReached(address), { cause })
        : inPlainWords(cause, address);
    });
    try {
      const result = await work(client, target.DATA_KEYS);
      for (const line of options.json === true ? [JSON.stringify(result.document)] : result.lines)
        print(line);
      exit = result.exit;
    } catch (error) {
      throw inPlainWords(error, address);
    } finally {
      await client.connection.close();
    }
  };
  const program = new Command(name).exitOverride();
  define(program, withTemporal);
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exit;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.refused;
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    const isAsked =
      error instanceof ConfigError || error instanceof NoStackError || error instanceof ToolError;
    return isAsked ? EXIT.refused : EXIT.error;
  }
}

const notReached = (address: string, detail = ''): string =>
  `Temporal cannot be reached at ${address}${detail}. Check that it is running and that TEMPORAL_ADDRESS is correct.`;

// DEADLINE_EXCEEDED, UNAVAILABLE, and UNIMPLEMENTED: a proxy or another kind of server answers at the address.
const NOT_REACHED: ReadonlySet<number> = new Set([4, 14, 12]);

/** A failed call of Temporal as a message that says where it failed; every other error as it is. */
function inPlainWords(error: unknown, address: string): unknown {
  const grpc = grpcErrorIn(error);
  if (grpc === undefined) return error;
  const message = NOT_REACHED.has(grpc.code)
    ? notReached(address, ` (${grpc.details})`)
    : `Temporal at ${address} refused the call (${grpc.details}). Check TEMPORAL_NAMESPACE and the credentials.`;
  return new ToolError(message, { cause: error });
}

// The SDK wraps the gRPC error of some calls in an error that says only which call failed.
function grpcErrorIn(error: unknown): { code: number; details: string } | undefined {
  if (isGrpcServiceError(error)) return error;
  return error instanceof Error && error.cause !== undefined ? grpcErrorIn(error.cause) : undefined;
}

/**
 * How an operator's tool reaches Temporal: the running embedded stack on `dataDir` if that is given, else the server of
 * TEMPORAL_ADDRESS, else the embedded stack on DATA_DIR. Throws ConfigError, NoStackError.
 */
async function temporalTarget(dataDir?: string): Promise<TemporalConfig> {
  if (dataDir === undefined && givenVariables(['TEMPORAL_ADDRESS']).TEMPORAL_ADDRESS !== undefined)
    return readConfig(TEMPORAL_VARIABLES);
  const folder = dataDir ?? readConfig(['DATA_DIR']).DATA_DIR;
  const { temporalAddress, temporalNamespace } = await readConnection(folder);
  const { dataKeys } = await ensureSecrets(folder);
  return {
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: temporalNamespace,
    TEMPORAL_API_KEY: undefined,
    DATA_KEYS: dataKeys,
  };
}
