import { runStarter } from '../../src/starter/program.ts';

export interface StarterRun {
  exitCode: number;
  stdout: string;
  stderr: string;
  /** The last line of stdout, read as JSON. */
  json(): Record<string, unknown> & { exitCode: number };
}

/**
 * Runs a command line in this process. `onOutput` sees all that was written so
 * far.
 */
export async function starter(
  argv: readonly string[],
  {
    env = {},
    interrupted = new AbortController().signal,
    onOutput = () => {},
  }: {
    env?: Record<string, string>;
    interrupted?: AbortSignal;
    onOutput?: (text: string) => void;
  } = {},
): Promise<StarterRun> {
  const written = { stdout: '', stderr: '' };
  const stream = (name: 'stdout' | 'stderr') => ({
    write(text: string) {
      written[name] += text;
      onOutput(written.stdout + written.stderr);
    },
  });
  const exitCode = await runStarter(argv, {
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    interrupted,
    env,
  });
  return {
    exitCode,
    ...written,
    json: () => JSON.parse(written.stdout.trimEnd().split('\n').at(-1) ?? ''),
  };
}
