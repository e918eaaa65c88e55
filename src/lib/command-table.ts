import {
  Argument,
  type Command,
  InvalidArgumentError,
  Option,
} from 'commander';
import { instantIn } from './time.ts';

/** An option or argument of a command. */
interface Parameter {
  /** May name words of the vocabulary: `{SOURCE_TYPES}`. */
  help?: string;
  /** The option must be given. */
  required?: boolean;
  /** The only values, or the name of a list of the vocabulary. */
  choices?: string | readonly string[];
  /** The value is a whole number, from the first to the second. */
  range?: readonly number[];
  /**
   * The only values, by the name of a list of the vocabulary; for values that
   * the help already lists.
   */
  oneOf?: string;
  /** Name of the parser that reads the value. */
  parse?: string;
  default?: unknown;
  /** How the help shows the default, if not as JSON. */
  defaultText?: string;
  /** Value of an option that was given without one. */
  preset?: string;
  /** The option, in camel case, that cannot be given together with this one. */
  conflicts?: readonly string[];
}

/**
 * By flags, as commander writes them: `--count <n>`, `<id>`, `[words...]`. A
 * text alone is the help.
 */
type ParameterList = Readonly<Record<string, string | Parameter>>;

interface CommandEntry {
  help: string;
  /** Names of shared lists of options, which come before the command's own. */
  with?: readonly string[];
  arguments?: ParameterList;
  options?: ParameterList;
  /** Whole command lines, printed after the options. */
  examples?: readonly string[];
}

/**
 * The commands of a program by their full names (`cohorts list`), as its
 * `commands.json` has them.
 */
export interface CommandTable<Name extends string> {
  shared: Readonly<Record<string, ParameterList>>;
  /** Descriptions of the commands that only group others. */
  groups: Readonly<Record<string, string>>;
  commands: Readonly<Record<Name, CommandEntry>>;
}

/**
 * What a command does: gets its arguments and its options, as commander passes
 * them to an action.
 */
export type CommandAction = (
  ...given: Parameters<Parameters<Command['action']>[0]>
) => Promise<void>;

export interface CommandWords {
  /** Lists for `choices` and help texts, and texts for help texts. */
  vocabulary: Readonly<Record<string, string | readonly string[]>>;
  /** Beside `time`, which every program has. Throw InvalidArgumentError. */
  parsers?: Readonly<Record<string, (text: string) => unknown>>;
  /** Printed after the help of every command. */
  footer?: string;
}

/**
 * Adds the commands of a table to a program. `actionOf` returns what the
 * command of a full name does.
 */
export function addCommands<Name extends string>(
  program: Command,
  table: CommandTable<Name>,
  words: CommandWords,
  actionOf: (name: Name) => CommandAction,
): void {
  const groups = new Map<string, Command>();
  // Options belong to the command after whose name they stand, also where a
  // command has commands of its own.
  program.enablePositionalOptions();
  for (const [name, entry] of Object.entries(table.commands) as [
    Name,
    CommandEntry,
  ][]) {
    const [last = '', group] = name.split(' ').reverse();
    const command = parentOf(group)
      .command(last)
      .description(entry.help)
      .action(actionOf(name));
    // It may have commands of its own, whose options are theirs: `bulk <file>`
    // and `bulk status <job>`.
    if (group === undefined)
      groups.set(last, command.enablePositionalOptions());
    for (const [flags, parameter] of Object.entries(entry.arguments ?? {}))
      command.addArgument(argumentOf(flags, parameter, words));
    for (const parameters of [
      ...(entry.with ?? []).map((list) => table.shared[list]),
      entry.options,
    ])
      for (const [flags, parameter] of Object.entries(parameters ?? {}))
        command.addOption(optionOf(flags, parameter, words));
    const examples = entry.examples?.map((line) => `  ${line}\n`) ?? [];
    if (examples.length > 0)
      command.addHelpText('after', `\nExamples:\n${examples.join('')}`);
    if (words.footer !== undefined) command.addHelpText('after', words.footer);
  }

  function parentOf(group: string | undefined): Command {
    if (group === undefined) return program;
    const known =
      groups.get(group) ??
      program.command(group).description(table.groups[group] ?? '');
    groups.set(group, known);
    return known;
  }
}

function argumentOf(
  flags: string,
  given: string | Parameter,
  words: CommandWords,
): Argument {
  const parameter = typeof given === 'string' ? { help: given } : given;
  const argument = new Argument(flags, textOf(parameter, words));
  if (parameter.default !== undefined) argument.default(parameter.default);
  return withValues(argument, parameter, words);
}

function optionOf(
  flags: string,
  given: string | Parameter,
  words: CommandWords,
): Option {
  const parameter: Parameter =
    typeof given === 'string' ? { help: given } : given;
  const option = new Option(
    flags,
    textOf(parameter, words),
  ).makeOptionMandatory(parameter.required === true);
  if (parameter.default !== undefined)
    option.default(parameter.default, parameter.defaultText);
  if (parameter.preset !== undefined) option.preset(parameter.preset);
  if (parameter.conflicts !== undefined)
    option.conflicts([...parameter.conflicts]);
  return withValues(option, parameter, words);
}

function timeOf(text: string): Date {
  const at = instantIn(text);
  if (at !== undefined) return at;
  throw new InvalidArgumentError(
    'Expected a date such as 2026-06-01 (UTC) or a time such as 2026-06-01T02:30:00Z.',
  );
}

function withValues<T extends Argument | Option>(
  target: T,
  { choices, range, oneOf, parse }: Parameter,
  { vocabulary, parsers }: CommandWords,
): T {
  if (choices !== undefined)
    target.choices(
      [choices].flat().flatMap((word) => vocabulary[word] ?? word),
    );
  if (range !== undefined) target.argParser<unknown>(wholeNumber(...range));
  if (oneOf !== undefined)
    target.argParser<unknown>(
      anyOf([vocabulary[oneOf] ?? []].flat(), target.variadic),
    );
  const parser = parse === 'time' ? timeOf : parsers?.[parse ?? ''];
  if (parser !== undefined) target.argParser<unknown>(parser);
  return target;
}

const textOf = (
  { help }: Parameter,
  { vocabulary }: CommandWords,
): string | undefined =>
  help?.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    [vocabulary[name] ?? []].flat().join(', '),
  );

/** Parser of a whole number in a range. It throws InvalidArgumentError. */
const wholeNumber =
  (min = 0, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (Number.isInteger(value) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(
      `Expected a whole number from ${min} to ${max}.`,
    );
  };

/**
 * Parser of a word of a list, or of several such words. It throws
 * InvalidArgumentError.
 */
const anyOf =
  (known: readonly string[], isVariadic: boolean) =>
  (text: string, before: unknown): unknown => {
    const word = text.trim();
    if (!known.includes(word))
      throw new InvalidArgumentError(
        `Expected one ${isVariadic ? 'or more ' : ''}of ${known.join(', ')}.`,
      );
    return isVariadic ? [...(Array.isArray(before) ? before : []), word] : word;
  };
