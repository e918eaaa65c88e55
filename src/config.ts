import { readFileSync } from 'node:fs';
import { closest, distance } from 'fastest-levenshtein';
import type { z } from 'zod';
import { PROCESS_VARIABLES, SOURCE_VARIABLES } from './config/variables.ts';

/**
 * The only module that reads the environment. Variables are declared in
 * `config/`; each process names those it needs:
 *
 *   const config = readConfig(['DATABASE_URL', 'DATA_KEYS']);
 *
 * Any variable can be read from a file instead:
 * `DATABASE_URL_FILE=/run/secrets/database-url`.
 */
export const VARIABLES = {
  ...PROCESS_VARIABLES,
  ...SOURCE_VARIABLES,
} as const satisfies Record<string, z.ZodType>;

export { sourceVariableNames } from './config/variables.ts';

export type VariableName = keyof typeof VARIABLES;
export type Config<N extends VariableName> = {
  [K in N]: z.output<(typeof VARIABLES)[K]>;
};

/**
 * What a variable is for, as the message about a missing or invalid one says.
 */
const descriptionOf = (name: VariableName): string =>
  VARIABLES[name].description ?? '';

/**
 * Invalid configuration. The message lists every variable to correct; it never
 * contains a value.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Reads and validates the named variables. Throws ConfigError with one line per
 * missing or invalid variable.
 */
export function readConfig<const N extends VariableName>(
  names: readonly N[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Config<N> {
  const problems = unknownVariables(env);
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

/**
 * Variables that look like ours but are none, one line each: a misspelt name
 * would otherwise mean its default. Those of sources are known by their prefix,
 * others by being a typing error away. Kubernetes adds some for its services.
 */
function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  return Object.keys(env).flatMap((variable) => {
    const name = variable.replace(/_FILE$/, '');
    if (name in VARIABLES || /_SERVICE_|_PORT(_|$)/.test(name)) return [];
    const source = /^(HIE|PHARMACY|LAB)_/.exec(name)?.[1];
    if (source !== undefined)
      return `${variable}: is not a variable; most settings of a source are members of ${source}_SETTINGS`;
    const near = closest(name, Object.keys(VARIABLES));
    const isMisspelt =
      name.length > 8 &&
      distance(name, near) === 1 &&
      rawValue(near, env) === undefined;
    return isMisspelt ? `${variable}: is not a variable; ${near} is` : [];
  });
}

/**
 * Validates those of the named variables that are set, and returns their raw
 * values, to be passed to a child process.
 */
export function givenVariables<const N extends VariableName>(
  names: readonly N[],
  env: Readonly<Record<string, string | undefined>> = process.env,
): Partial<Record<N, string>> {
  const given = names.filter((name) => rawValue(name, env) !== undefined);
  readConfig(given, env);
  return Object.fromEntries(
    given.map((name) => [name, rawValue(name, env)]),
  ) as Partial<Record<N, string>>;
}

/**
 * Removes all variables of this module from the environment of this process,
 * once it has read them, so that neither diagnostic reports, threads nor child
 * processes contain secrets.
 */
export function forgetVariables(
  env: Record<string, string | undefined> = process.env,
): void {
  for (const name of Object.keys(VARIABLES)) {
    delete env[name];
    delete env[`${name}_FILE`];
  }
}

/**
 * Reads a variable again that comes from a file, because the file may have been
 * replaced; undefined if it comes from none.
 */
export function readVariableAgain(name: VariableName): string | undefined {
  const file = process.env[`${name}_FILE`];
  if (file === undefined || file === '') return undefined;
  try {
    return rawValue(name, process.env);
  } catch {
    // It is being replaced.
    return undefined;
  }
}

function rawValue(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const file = env[`${name}_FILE`];
  const value =
    file === undefined || file === ''
      ? env[name]
      : readFileSync(file, 'utf8').trim();
  return value === '' ? undefined : value;
}

const describe = (error: z.ZodError): string =>
  error.issues.map(({ message }) => message).join('; ');

const SYSTEM_VARIABLES = [
  'PATH',
  'HOME',
  'USER',
  'LANG',
  'TMPDIR',
  'NODE_COMPILE_CACHE',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
];

/**
 * The width that a shell states for its terminal, for output whose width is
 * unknown: `COLUMNS`.
 */
export function terminalColumns(
  { COLUMNS = '' }: Readonly<Record<string, string | undefined>> = process.env,
): number | undefined {
  return /^[1-9]\d{0,4}$/.test(COLUMNS) ? Number(COLUMNS) : undefined;
}

/**
 * System variables that every child process gets in addition to the ones passed
 * explicitly.
 */
export const systemEnvironment = (
  env: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> =>
  Object.fromEntries(
    SYSTEM_VARIABLES.flatMap((name) =>
      env[name] === undefined ? [] : [[name, env[name]]],
    ),
  );
