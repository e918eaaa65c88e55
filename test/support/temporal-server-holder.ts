import { startTemporalServer } from '../../tools/embedded/temporal-server.ts';

// Starts a Temporal server on the folder given as argument, as a supervisor
// does, and tells its parent where; the tests kill this process to see what
// becomes of the server.

const [, , dataDir = ''] = process.argv;
const { address, pid } = await startTemporalServer({ dataDir });
process.send?.({ address, pid });
