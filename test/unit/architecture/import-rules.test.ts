import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/** Each file imports one thing; the linter says whether it may. `biome check` alone would not notice a rule that never fires. */
const FORBIDDEN: [file: string, imported: string][] = [
  ['src/contract/a.ts', '../lib/logger.ts'],
  ['src/contract/endpoints/a.ts', '../../lib/logger.ts'],
  ['src/exchange/domain/b.ts', '../store/database.ts'],
  ['src/exchange/domain/c.ts', 'node:fs'],
  ['src/exchange/records/rules/ca.ts', '../../store/database.ts'],
  ['src/exchange/records/rules/cb.ts', 'kysely'],
  ['src/exchange/gateway/routes/d.ts', '../../../orchestrator/client/answers.ts'],
  ['src/exchange/e.ts', '../workflows/index.ts'],
  ['src/exchange/sources/f.ts', '../../simulator/server.ts'],
  ['src/orchestrator/g.ts', '../exchange/errors.ts'],
  ['src/orchestrator/client/h.ts', '../../embedded/stack.ts'],
  ['src/workflows/exchange/q/i.ts', 'node:crypto'],
  ['src/workflows/exchange/q/j.ts', '../../../exchange/store/database.ts'],
  ['src/workflows/exchange/q/k.ts', '../../../orchestrator/client/answers.ts'],
  ['src/workflows/exchange/q/l.ts', '@temporalio/client'],
  ['src/workflows/exchange/q/m.ts', '../../../temporal/client.ts'],
  ['src/workflows/orchestrator/p/n.ts', '../../../exchange/domain/query-status.ts'],
  ['src/workflows/orchestrator/p/o.ts', '../../../lib/logger.ts'],
  ['src/workflows/shared/oa.ts', '../../exchange/domain/query-status.ts'],
  ['src/workflows/shared/ob.ts', '../orchestrator/patient-onboarding/steps.ts'],
  ['src/workflows/shared/oc.ts', 'node:crypto'],
  ['src/activities/exchange/p.ts', '../../orchestrator/client/answers.ts'],
  ['src/activities/orchestrator/q.ts', '../../exchange/errors.ts'],
  ['src/lib/r.ts', '../contract/errors.ts'],
  ['src/temporal/s.ts', '../exchange/errors.ts'],
  ['src/simulator/t.ts', '../exchange/sources/connector.ts'],
];
const ALLOWED: [file: string, imported: string][] = [
  ['src/contract/aa.ts', './errors.ts'],
  ['src/contract/endpoints/aa.ts', '../errors.ts'],
  ['src/exchange/domain/bb.ts', '../../contract/errors.ts'],
  ['src/exchange/domain/cc.ts', './query-status.ts'],
  ['src/exchange/records/rules/cca.ts', '../demographics.ts'],
  ['src/exchange/gateway/routes/dd.ts', '../../store/database.ts'],
  ['src/workflows/exchange/q/ee.ts', '../../../exchange/domain/query-status.ts'],
  ['src/workflows/exchange/q/ff.ts', '../../../contract/temporal.ts'],
  ['src/workflows/exchange/q/gg.ts', '../../../temporal/search-attributes.ts'],
  ['src/workflows/exchange/q/hh.ts', '../../../activities/exchange/source-activities.ts'],
  ['src/workflows/orchestrator/p/ii.ts', '../../../contract/temporal.ts'],
  ['src/workflows/orchestrator/p/jj.ts', '../../../activities/orchestrator/endpoints.ts'],
  ['src/workflows/shared/jk.ts', '../../contract/temporal.ts'],
  ['src/workflows/exchange/q/jl.ts', '../../shared/gate.ts'],
  ['src/workflows/index.ts', './exchange/network-query/workflow.ts'],
  ['src/activities/exchange/kk.ts', '../../exchange/store/database.ts'],
  ['src/lib/ll.ts', '../config.ts'],
  ['src/worker.ts', './orchestrator/client/exchange-client.ts'],
  ['src/embedded/mm.ts', '../simulator/server.ts'],
];

describe('the import direction', () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  let folder: string;
  let flagged: Set<string>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'import-rules-'));
    await copyFile(join(root, 'biome.json'), join(folder, 'biome.json'));
    for (const [file, imported] of [...FORBIDDEN, ...ALLOWED]) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), `export * from '${imported}';\n`);
    }
    const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
    const args = [
      'lint',
      '--only=style/noRestrictedImports',
      '--vcs-enabled=false',
      '--reporter=github',
      '--max-diagnostics=none',
      '.',
    ];
    const output = await promisify(execFile)(process.execPath, [biome, ...args], { cwd: folder }).then(
      ({ stdout }) => stdout,
      (failed: { stdout: string }) => failed.stdout,
    );
    flagged = new Set([...output.matchAll(/file=[^,]*?(src\/[^,]+),/g)].map((match) => match[1] ?? ''));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(FORBIDDEN)('%s may not import %s', (file) => {
    expect(flagged).toContain(file);
  });
  test.each(ALLOWED)('%s may import %s', (file) => {
    expect(flagged).not.toContain(file);
  });
});
