import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTestGateway } from '../support/gateway.ts';
import { makeTestFolder } from '../support/test-folder.ts';

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
