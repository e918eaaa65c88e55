import { exitWithParent, reportReady } from '../../src/lib/exit-with-parent.ts';

// An entry point for the tests of the supervisor. REFUSE: does not start. DEAF:
// ignores SIGTERM.

exitWithParent();
if (process.env.REFUSE !== undefined) {
  process.stdout.write(
    `${JSON.stringify({ level: 60, msg: 'could not start', err: { message: process.env.REFUSE } })}\n`,
  );
  process.exit(1);
}
process.on('SIGTERM', () => {
  if (process.env.DEAF === undefined) process.exit(0);
});
setInterval(() => undefined, 60_000);
reportReady({ greeting: process.env.GREETING });
