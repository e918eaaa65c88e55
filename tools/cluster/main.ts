import { once } from 'node:events';
import { join } from 'node:path';
import { givenVariables, readConfig } from '../../src/config.ts';
import { lockHolder } from '../../src/local-stack/stack-lock.ts';
import {
  describeStack,
  givenWords,
  outsideParts,
  runForeground,
} from '../embedded/foreground.ts';
import { type Cluster, startCluster } from './cluster.ts';

/** Asks a running cluster to replace its processes by those of a new build. */
const ROLL_SIGNAL = 'SIGUSR2';

const { DATA_DIR, LOG_LEVEL } = readConfig(['DATA_DIR', 'LOG_LEVEL']);
/**
 * Apart from that of `npm start`, whose blobs and workflows are kept otherwise.
 */
const dataDir = join(DATA_DIR, 'cluster');

if (givenWords('npm run cluster', ['roll']).has('roll')) await askToRoll();
else
  await runForeground({
    start({ print, onStart, signal }) {
      const ports = readConfig([
        'GATEWAY_PORT',
        'RECEIVER_PORT',
        'TEMPORAL_UI_PORT',
      ]);
      return startCluster({
        dataDir,
        logLevel: LOG_LEVEL,
        log: print,
        onStart,
        ports: {
          gateway: ports.GATEWAY_PORT,
          receiver: ports.RECEIVER_PORT,
          temporalUi: ports.TEMPORAL_UI_PORT,
        },
        outside: outsideParts(givenVariables),
        signal,
      });
    },
    async run(cluster, { print, signal }) {
      process.on(ROLL_SIGNAL, () => {
        cluster
          .roll()
          .catch((error: unknown) =>
            print(
              `Not rolled: ${error instanceof Error ? error.message : error}`,
            ),
          );
      });
      print(
        describeStack(
          cluster.connection,
          dataDir,
          `DATA_DIR=${dataDir} npm run starter --`,
        ),
      );
      print(describeProcesses(cluster));
      if (!signal.aborted) await once(signal, 'abort');
    },
  });

/** `npm run cluster -- roll`: the cluster itself shows what it does. */
async function askToRoll(): Promise<void> {
  const pid = await lockHolder(dataDir);
  if (pid === undefined) {
    process.stderr.write(
      `No cluster is running on the data folder ${dataDir}. Start one with: npm run cluster\n`,
    );
    process.exitCode = 1;
    return;
  }
  process.kill(pid, ROLL_SIGNAL);
  process.stdout.write(
    'The cluster replaces its processes now; its terminal shows how far it is.\n',
  );
}

function describeProcesses(cluster: Cluster): string {
  const names = Object.entries(cluster.pids()).map(
    ([name, pid]) => `${name} ${pid}`,
  );
  return `\nProcesses: ${names.join(', ')}\nKill any of them (each is started again), or roll: npm run cluster -- roll`;
}
