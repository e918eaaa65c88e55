import { EXIT } from './exit-codes.ts';
import { runStarter } from './program.ts';

const interruption = new AbortController();
const interrupt = () => {
  // Who asks twice does not want to wait for the last lines.
  if (interruption.signal.aborted) process.exit(EXIT.interrupted);
  interruption.abort();
};
process.on('SIGINT', interrupt);
process.on('SIGTERM', interrupt);

process.exitCode = await runStarter(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  interrupted: interruption.signal,
});
