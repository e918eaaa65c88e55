import { onClosedOutput } from '../lib/command-line.ts';
import { EXIT } from '../lib/exit-codes.ts';
import { runStarter } from './program.ts';

const interruption = new AbortController();
const interrupt = () => {
  // A second signal ends the process without waiting for the last lines.
  if (interruption.signal.aborted) process.exit(EXIT.interrupted);
  interruption.abort();
};
process.on('SIGINT', interrupt);
process.on('SIGTERM', interrupt);
onClosedOutput(() => process.exit(EXIT.interrupted));

process.exitCode = await runStarter(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  interrupted: interruption.signal,
});
