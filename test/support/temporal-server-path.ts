import { getTemporalCli } from '../../src/temporal/server-binary.ts';

// Prints where the Temporal CLI was found; the tests run it with a PATH of
// their own.

process.stdout.write(await getTemporalCli());
