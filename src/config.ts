import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import descriptions from './config/descriptions.json' with { type: 'json' };
import { describeSourceVariable, SOURCE_VARIABLES } from './config/source-variables.ts';
import { PROCESS_VARIABLES } from './config/variables.ts';

/**
 * The only module that reads the environment. Variables are declared in `config/`; each process names those it needs:
 *
 *   const config = readConfig(['DATABASE_URL', 'DATA_KEYS']);
 *
 * Any variable can be read from a file instead: `DATABASE_URL_FILE=/run/secrets/database-url`.
 */
export const VARIABLES = { ...PROCESS_VARIABLES, ...SOURCE_VARIABLES } as const satisfies Record<
  string,
  z.ZodType
>;

export { sourceVariableNames } from './config/source-variables.ts';

export type VariableName = keyof typeof VARIABLES;
export type Config<N extends VariableName> = { [K in N]: z.output<(typeof VARIABLES)[K]> };

const DESCRIPTIONS: Readonly<Record<keyof typeof PROCESS_VARIABLES, string>> = descriptions.variables;

/** What a variable is for, as the message about a missing or invalid one says. */
const descriptionOf = (name: VariableName): string =>
  isOfSource(name) ? describeSourceVariable(name) : DESCRIPTIONS[name];
const isOfSource = (name: VariableName): name is keyof typeof SOURCE_VARIABLES => name in SOURCE_VARIABLES;

/** Invalid configuration. The message lists every variable to correct; it never contains a value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Reads and validates the named variables. Throws ConfigError with one line per missing or invalid variable. */
export function readConfig<const N extends VariableName>(
  names: readonly N[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Config<N> {
  const problems: string[] = [];
  const entries = names.map((name) => {
    const value = rawValue(name, env);
    const parsed = VARIABLES[name].safeParse(value);
    if (parsed.success) return [name, parsed.data];
    const problem = value === undefined ? 'is missing' : describe(parsed.error);
    problems.push(`${name}: ${problem} (${descriptionOf(name)})`);
    return [name, undefined];
  });
  if (problems.length > 0)
    throw new ConfigError(
      `The configuration is not valid; set these environment variables:\n  ${problems.join('\n  ')}`,
    );
  return Object.fromEntries(entries) as Config<N>;
}

/** Validates those of the named variables that are set, and returns their raw values, to be passed to a child process. */
export function givenVariables<const N extends VariableName>(
  names: readonly N[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Partial<Record<N, string>> {
  const given = names.filter((name) => rawValue(name, env) !== undefined);
  readConfig(given, env);
  return Object.fromEntries(given.map((name) => [name, rawValue(name, env)])) as Partial<Record<N, string>>;
}

/**
 * Removes all variables of this module from the environment of this process, once it has read them, so that neither
 * diagnostic reports, threads nor child processes contain secrets.
 */
export function forgetVariables(env: Record<string, string | undefined> = process.env): void {
  for (const name of Object.keys(VARIABLES)) {
    delete env[name];
    delete env[`${name}_FILE`];
  }
}

/** Reads a variable again that comes from a file, because the file may have been replaced; undefined if it comes from none. */
export function readAgain(name: VariableName): string | undefined {
  const file = process.env[`${name}_FILE`];
  if (file === undefined || file === '') return undefined;
  try {
    return rawValue(name, process.env);
  } catch {
    // It is being replaced.
    return undefined;
  }
}

function rawValue(name: string, env: Readonly<Record<string, string | undefined>>): string | undefined {
  const file = env[`${name}_FILE`];
  const value = file === undefined || file === '' ? env[name] : readFileSync(file, 'utf8').trim();
  return value === '' ? undefined : value;
}

const describe = (error: z.ZodError): string => error.issues.map(({ message }) => message).join('; ');

const SYSTEM_VARIABLES = [
  ...['PATH', 'HOME', 'USER', 'LANG', 'TMPDIR'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'],
];

/** The width that a shell states for its terminal, for output whose width is unknown: `COLUMNS`. */
export function columnsOf(
  { COLUMNS = '' }: Readonly<Record<string, string | undefined>> = process.env,
): number | undefined {
  return /^[1-9]\d{0,4}$/.test(COLUMNS) ? Number(COLUMNS) : undefined;
}

/**
 * Keeps the AWS SDK from warning on Node.js 20 that its releases of 2027 will need Node.js 22: the release in use is in the
 * lock file, so the warning is about an upgrade of this repository, not about its use.
 */
export function silenceAwsSdk(env: Record<string, string | undefined> = process.env): void {
  env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';
}

/** System variables that every child process gets in addition to the ones passed explicitly. */
export const systemEnvironment = (
  env: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> =>
  Object.fromEntries(
    SYSTEM_VARIABLES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
