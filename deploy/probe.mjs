// Health check of a container: `node deploy/probe.mjs
// http://127.0.0.1:8080/ready` expects a 2xx response, `tcp://127.0.0.1:8083`
// expects an open port. Plain JavaScript, because it runs every few seconds.
import { get } from 'node:http';
import { connect } from 'node:net';

const TIMEOUT_MS = 4_000;
const target = new URL(process.argv[2] ?? '');
setTimeout(() => fail('no response in time'), TIMEOUT_MS).unref();

if (target.protocol === 'tcp:') {
  connect(Number(target.port), target.hostname)
    .on('connect', () => process.exit(0))
    .on('error', (error) => fail(error.message));
} else {
  get(target, ({ statusCode = 0 }) =>
    statusCode < 300 ? process.exit(0) : fail(`status ${statusCode}`),
  ).on('error', (error) => fail(error.message));
}

/** @param {string} reason shown by `docker inspect` */
function fail(reason) {
  process.stderr.write(`${target.href}: ${reason}\n`);
  process.exit(1);
}
