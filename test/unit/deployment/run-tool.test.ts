import { createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  runTool,
  withCommonOptions,
} from '../../../src/deployment/run-tool.ts';
import { EXIT } from '../../../src/lib/exit-codes.ts';
import { registerSearchAttributes } from '../../../src/temporal/register-search-attributes.ts';
import { TEST_DATA_KEYS } from '../../support/test-keys.ts';

let said = '';
beforeEach(() => {
  said = '';
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    said += String(text);
    return true;
  });
  vi.stubEnv('DATA_KEYS', TEST_DATA_KEYS);
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

const setUp = (): Promise<number> =>
  runTool('temporal-setup', [], (program, withTemporal) => {
    withCommonOptions(program).action((options) =>
      withTemporal(options, async (client) => {
        await registerSearchAttributes(
          client.connection,
          client.options.namespace,
        );
        return { exitCode: EXIT.done, lines: [], document: {} };
      }),
    );
  });

/**
 * A server that is not Temporal's gives every call the answer. The SDK connects
 * to it all the same.
 */
async function setUpAt(
  answer: Record<string, string | number>,
): Promise<number> {
  const server = createServer();
  server.on('stream', (stream) => stream.respond(answer, { endStream: true }));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  vi.stubEnv(
    'TEMPORAL_ADDRESS',
    `127.0.0.1:${(server.address() as AddressInfo).port}`,
  );
  const exit = await setUp();
  server.close();
  return exit;
}

test('a server at the address that is not a Temporal server is said in words', async () => {
  expect(await setUpAt({ ':status': 404 })).toBe(EXIT.usage);
  expect(said).toMatch(
    /^Temporal cannot be reached at 127\.0\.0\.1:\d+ \(.*404\)\. Check that it is running and that TEMPORAL_ADDRESS/,
  );
});

test('refused credentials are not called an address that cannot be reached', async () => {
  const refused = {
    ':status': 200,
    'content-type': 'application/grpc',
    'grpc-status': 7,
  };
  expect(
    await setUpAt({ ...refused, 'grpc-message': 'Request unauthorized' }),
  ).toBe(EXIT.usage);
  expect(said).toMatch(
    /^Temporal at 127\.0\.0\.1:\d+ refused the call \(Request unauthorized\)\. Check TEMPORAL_NAMESPACE/,
  );
});
