import { Command, CommanderError } from 'commander';
import { terminalOutput } from './escape.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';

/**
 * What a command wants to be printed: lines for people, one document for
 * `--json`, and the exit code.
 */
export interface CommandOutcome {
  /** Default: 0, the command did its work. */
  exitCode?: ExitCode;
  lines: readonly string[];
  document: Readonly<Record<string, unknown>>;
  /** NDJSON, written to stdout instead of everything else. */
  stream?: AsyncIterable<string>;
}

/** Whole command lines, as a help text shows them. */
export const examples = (...lines: readonly string[]): string =>
  `\nExamples:\n${lines.map((line) => `  ${line}\n`).join('')}`;

export interface CommandLine {
  /** Name of the npm script. */
  name: string;
  /**
   * Adds the commands. An action prints its outcome itself, while what it
   * opened is still open.
   */
  define(
    program: Command,
    print: (outcome: CommandOutcome) => Promise<void>,
  ): void;
  /** The message and the exit code for an error of an action. */
  describe(error: unknown): { message: string; exitCode: ExitCode };
  /**
   * Write to stdout and stderr. The next write waits until this one has
   * completed.
   */
  out(text: string): unknown;
  err(text: string): unknown;
}

/**
 * Runs one command line (without `node` and the script) and returns the exit
 * code. Never rejects. With `--json`, stdout carries one document with the exit
 * code, for an error too; everything else goes to stderr.
 */
export async function runCommandLine(
  argv: readonly string[],
  line: CommandLine,
): Promise<ExitCode> {
  const { name, err } = line;
  const json = argv.includes('--json');
  let exitCode: ExitCode = EXIT.done;
  let isClosed = false;
  const out = async (text: string) => {
    isClosed = true;
    await line.out(text);
    isClosed = false;
  };
  const writeDocument = (document: object) =>
    out(`${JSON.stringify(document)}\n`);
  const program = new Command(name).exitOverride().configureOutput({
    writeOut: (text) => void (json ? err : line.out)(text),
    writeErr: (text) => void err(text),
  });
  line.define(program, async ({ lines, document, stream, ...outcome }) => {
    exitCode = outcome.exitCode ?? EXIT.done;
    if (stream !== undefined) for await (const text of stream) await out(text);
    else if (json) await writeDocument({ ...document, exitCode });
    else for (const text of lines) await out(`${terminalOutput(text)}\n`);
  });
  if (program.commands.length > 0) {
    const script = completionOf(program);
    program
      .command('completion')
      .description(
        `Print a script for bash or zsh; use it with: source <(npm run -s ${name} -- completion)`,
      )
      .action(() => void line.out(script));
  }
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return exitCode;
  } catch (error) {
    // The reader of the output went away, as `| head` does: no fault of a
    // service.
    if (isClosed) return EXIT.interrupted;
    if (error instanceof CommanderError && error.exitCode === 0)
      return EXIT.done;
    const isUsage = error instanceof CommanderError;
    const described = isUsage
      ? { message: error.message, exitCode: EXIT.usage }
      : line.describe(error);
    // Commander has already printed its message.
    if (!isUsage) err(`${terminalOutput(described.message)}\n`);
    if (json)
      await writeDocument({
        error: described.message,
        exitCode: described.exitCode,
      });
    return described.exitCode;
  }
}

/**
 * A shell script that defines the program as a function of the project's
 * folder, and completes its commands and options.
 */
function completionOf(program: Command): string {
  const name = program.name();
  const branches = wordsOf(program, []).sort(
    ([one], [other]) => other.length - one.length,
  );
  return [
    '[ -n "$ZSH_VERSION" ] && autoload -U +X bashcompinit && bashcompinit',
    `${name}() { npm run --silent ${name} -- "$@"; }`,
    `_${name}() {`,
    '  local words',
    `  case "\${COMP_WORDS[*]:1:COMP_CWORD-1} " in`,
    ...branches.map(([path, words]) => `    "${path}"*) words="${words}" ;;`),
    '  esac',
    `  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))`,
    '}',
    `complete -o default -F _${name} ${name}`,
    '',
  ].join('\n');
}

/**
 * What may follow a command: its commands and options. The path ends with a
 * space, unless it is empty.
 */
function wordsOf(
  command: Command,
  path: readonly string[],
): [path: string, words: string][] {
  const options = command.options.map(({ long }) => long ?? '');
  const words = [
    ...command.commands.map((each) => each.name()),
    ...options,
    '--help',
  ];
  return [
    [path.map((word) => `${word} `).join(''), words.join(' ')],
    ...command.commands.flatMap((each) =>
      wordsOf(each, [...path, each.name()]),
    ),
  ];
}

/**
 * Calls `onClosed` when the reader of standard output or standard error closes
 * it, as `| head` does. Without a listener the process would end with a stack
 * trace.
 */
export function onClosedOutput(onClosed: () => void): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      onClosed();
    });
}
