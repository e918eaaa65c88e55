import { execFileSync } from 'node:child_process';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { freePort } from '../../src/lib/free-port.ts';
import { createTestGateway } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-folder.ts';
import { hasPython, installPython, run } from './python.ts';

const GENERATOR =
  'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2';
const MAIN = `package main

import "example.org/exchange/client"

func main() {
	list := client.CreatePatientFirstName1{"Jane", "Marie"}
	var names client.CreatePatient_FirstName
	_ = names.FromCreatePatientFirstName1(list)
	_ = client.CreatePatient{FirstName: names}
	_ = client.NetworkQueryEvent{}
}
`;

const PYTHON_GENERATOR = 'openapi-python-client==0.29.1';
const PYTHON_CALLER = fileURLToPath(
  new URL('generated-client.py', import.meta.url),
);

const goMissing = () => {
  try {
    execFileSync('go', ['version']);
    return false;
  } catch {
    return true;
  }
};

test.skipIf(goMissing())(
  'a Go client generated from /openapi.json compiles, webhooks included',
  async () => {
    const folder = await makeTestFolder();
    const gateway = await createTestGateway();
    await writeFile(
      join(folder, 'openapi.json'),
      (await gateway.app.inject('/openapi.json')).body,
    );
    await gateway.close();
    const go = (...args: string[]) =>
      execFileSync('go', args, { cwd: folder, encoding: 'utf8' });
    go('mod', 'init', 'example.org/exchange');
    const client = join(folder, 'client');
    execFileSync('mkdir', [client]);
    go(
      'run',
      GENERATOR,
      '-generate',
      'types,client',
      '-package',
      'client',
      '-o',
      join(client, 'client.go'),
      'openapi.json',
    );
    await writeFile(join(folder, 'main.go'), MAIN);
    go('mod', 'tidy');
    expect(go('vet', './...')).toBe('');
  },
);

test.runIf(hasPython)(
  'a Python client generated from /openapi.json creates a patient, queries, reads the record and an error',
  async () => {
    const folder = await makeTestFolder();
    const programs = await installPython(folder, PYTHON_GENERATOR);
    const port = await freePort();
    const base = `http://127.0.0.1:${port}`;
    const gateway = await createTestGateway({ publicBaseUrl: base });
    const { apiKey, facilityId } = await gateway.addAccount();
    await gateway.app.listen({ host: '127.0.0.1', port });
    const document = join(folder, 'openapi.json');
    await writeFile(document, (await gateway.app.inject('/openapi.json')).body);

    await run(join(programs, 'openapi-python-client'), [
      'generate',
      '--path',
      document,
      '--meta',
      'none',
      '--output-path',
      join(folder, 'exchange_client'),
    ]);
    // Beside the generated package, where Python looks for it.
    const caller = join(folder, 'caller.py');
    await copyFile(PYTHON_CALLER, caller);
    const { stdout } = await run(join(programs, 'python'), [
      caller,
      base,
      apiKey,
      facilityId,
    ]);
    await gateway.close();

    expect(JSON.parse(stdout)).toEqual({
      same: [true, true],
      dob: '1980-05-17',
      sources: ['hie', 'lab'],
      record: 'Bundle',
      refused: [400, 'invalid-parameters', 'dob: is in the future'],
    });
  },
);
