import { once } from 'node:events';
import { givenVariables, readConfig } from '../../src/config.ts';
import { MLLP_VARIABLES } from '../../src/exchange/messaging/notifications/mllp/open-mllp.ts';
import { TRACE_VARIABLES } from '../../src/lib/tracing/config.ts';
import {
  describeStack,
  givenWords,
  outsideParts,
  runForeground,
} from './foreground.ts';
import { startStack } from './stack.ts';

/** Limits of a gateway, passed on if they are set. */
const LIMITS = ['DATABASE_POOL_MAX', 'SHARED_CONNECTIONS_MAX'] as const;

givenWords('npm start', []);

/**
 * `npm start`: runs the whole system on this machine in the foreground until
 * Ctrl-C. `npm run dev` starts it again when the code changes.
 */
await runForeground({
  async start({ print, onStart, signal }) {
    const config = readConfig([
      'DATA_DIR',
      'LOG_LEVEL',
      'TEMPORAL_UI_PORT',
      'SIMULATOR_PORT',
      'GATEWAY_PORT',
      'RECEIVER_PORT',
      'WORKER_PORT',
    ]);
    return startStack({
      dataDir: config.DATA_DIR,
      logLevel: config.LOG_LEVEL,
      log: print,
      onStart,
      ports: {
        temporalUi: config.TEMPORAL_UI_PORT,
        simulator: config.SIMULATOR_PORT,
        gateway: config.GATEWAY_PORT,
        receiver: config.RECEIVER_PORT,
        worker: config.WORKER_PORT,
      },
      outside: outsideParts(givenVariables),
      environment: {
        gateway: givenVariables([
          ...LIMITS,
          ...MLLP_VARIABLES,
          'TRUSTED_PROXIES',
          ...TRACE_VARIABLES,
        ]),
        worker: givenVariables([
          'DATABASE_POOL_MAX',
          'WORKER_VERSIONING',
          'BUILD_ID',
          ...TRACE_VARIABLES,
        ]),
        receiver: givenVariables(TRACE_VARIABLES),
      },
      signal,
    });
  },
  async run(stack, { print, signal }) {
    const { DATA_DIR } = readConfig(['DATA_DIR']);
    // Another terminal does not have the variable.
    const folder =
      givenVariables(['DATA_DIR']).DATA_DIR === undefined
        ? ''
        : `DATA_DIR=${DATA_DIR} `;
    print(
      describeStack(stack.connection, DATA_DIR, `${folder}npm run starter --`),
    );
    if (!signal.aborted) await once(signal, 'abort');
  },
});
