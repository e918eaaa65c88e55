import { describe, expect, test } from 'vitest';
import {
  importCircle,
  refusedImports,
} from '../../../scripts/check-imports.ts';
import { circleIn } from '../../../scripts/import-circles.ts';
import { refusal, undeclared } from '../../../scripts/import-rules.ts';

/** One of each kind, so that a rule that never fires is noticed. */
const FORBIDDEN: [file: string, imported: string][] = [
  ['contract/a.ts', 'lib/logger.ts'],
  ['contract/a.ts', 'shared/bulk-csv/check-csv.ts'],
  ['shared/bulk-csv/a.ts', 'exchange/platform/errors.ts'],
  ['shared/monitoring/a.ts', 'temporal/client.ts'],
  [
    'exchange/people/patients/rules/b.ts',
    'exchange/platform/database/database.ts',
  ],
  [
    'exchange/people/patients/rules/b.ts',
    'exchange/people/patients/patient-store.ts',
  ],
  ['exchange/people/patients/rules/c.ts', 'node:fs'],
  ['exchange/records/rules/cb.ts', 'kysely'],
  [
    'exchange/platform/outbox/rules/cc.ts',
    'exchange/platform/outbox/webhook-dispatcher.ts',
  ],
  ['exchange/messaging/messages/routes.ts', 'orchestrator/client/responses.ts'],
  ['exchange/messaging/messages/service.ts', 'activities/exchange/messages.ts'],
  ['exchange/messaging/messages/feature.ts', 'activities/exchange/messages.ts'],
  ['exchange/platform/http/d.ts', 'exchange/access/accounts/account-store.ts'],
  ['exchange/people/patients/rules/da.ts', 'exchange/records/rules/dates.ts'],
  [
    'exchange/records/db.ts',
    'exchange/queries/network-query/timeline-store.ts',
  ],
  ['exchange/queries/sweep/dc.ts', 'exchange/features.ts'],
  ['exchange/e.ts', 'workflows/index.ts'],
  ['gateway.ts', 'tools/simulator/server.ts'],
  ['starter/ea.ts', 'tools/embedded/stack.ts'],
  ['starter/commands/eb.ts', 'tools/simulator/admin-client.ts'],
  ['local-stack/ec.ts', 'starter/errors.ts'],
  ['worker.ts', 'bench/cpu.ts'],
  ['starter/ed.ts', 'test/support/stack.ts'],
  ['exchange/sources/connectors/f.ts', 'tools/simulator/server.ts'],
  ['orchestrator/g.ts', 'exchange/platform/errors.ts'],
  ['orchestrator/client/h.ts', 'tools/embedded/stack.ts'],
  ['workflows/exchange/q/i.ts', 'node:crypto'],
  ['workflows/exchange/q/j.ts', 'exchange/platform/database/database.ts'],
  ['workflows/exchange/q/k.ts', 'orchestrator/client/responses.ts'],
  ['workflows/exchange/q/l.ts', '@temporalio/client'],
  ['workflows/exchange/q/m.ts', 'temporal/client.ts'],
  [
    'workflows/orchestrator/p/n.ts',
    'exchange/queries/network-query/rules/query-status.ts',
  ],
  ['workflows/orchestrator/p/o.ts', 'lib/logger.ts'],
  [
    'workflows/shared/oa.ts',
    'exchange/queries/network-query/rules/query-status.ts',
  ],
  [
    'workflows/shared/ob.ts',
    'workflows/orchestrator/patient-onboarding/workflow.ts',
  ],
  ['workflows/shared/oc.ts', 'node:crypto'],
  ['activities/exchange/p.ts', 'orchestrator/client/responses.ts'],
  ['activities/exchange/p.ts', 'workflows/index.ts'],
  ['activities/orchestrator/q.ts', 'exchange/platform/errors.ts'],
  ['lib/r.ts', 'contract/errors.ts'],
  ['temporal/s.ts', 'exchange/platform/errors.ts'],
  ['tools/simulator/t.ts', 'exchange/sources/connectors/connector.ts'],
  ['tools/simulator/t.ts', 'temporal/client.ts'],
  ['tools/simulator/t.ts', 'local-stack/connection-file.ts'],
  ['tools/simulator/t.ts', 'tools/embedded/stack.ts'],
  ['tools/embedded/u.ts', 'tools/simulator/server.ts'],
  ['tools/embedded/u.ts', 'exchange/people/patients/patient-store.ts'],
  ['tools/embedded/u.ts', 'starter/errors.ts'],
  ['tools/cluster/v.ts', 'exchange/operations/admin/seed.ts'],
  ['tools/cluster/v.ts', 'tools/demo/run.ts'],
  ['tools/demo/w.ts', 'bench/cpu.ts'],
  ['tools/demo/w.ts', 'starter/commands/onboard.ts'],
  ['tools/x.ts', 'exchange/platform/database/database.ts'],
  ['bench/merge/y.ts', 'tools/demo/run.ts'],
  ['bench/merge/y.ts', 'tools/simulator/server.ts'],
  ['packages/person-matching/src/u.ts', 'contract/errors.ts'],
  ['packages/person-matching/src/u.ts', 'packages/other/src/index.ts'],
  ['packages/person-matching/src/u.ts', '#other'],
  ['packages/person-matching/test/ua.ts', 'lib/logger.ts'],
  [
    'exchange/people/patients/ub.ts',
    'packages/person-matching/src/match-score.ts',
  ],
  ['contract/uc.ts', '#person-matching'],
  ['workflows/exchange/q/ud.ts', '#person-matching'],
];
const ALLOWED: [file: string, imported: string][] = [
  ['contract/aa.ts', 'contract/errors.ts'],
  ['contract/aa.ts', 'zod'],
  ['exchange/people/patients/rules/bb.ts', 'contract/errors.ts'],
  [
    'exchange/records/rules/cc.ts',
    'exchange/people/patients/rules/demographics.ts',
  ],
  [
    'exchange/messaging/messages/routes.ts',
    'exchange/platform/database/database.ts',
  ],
  ['exchange/operations/ops/n.ts', 'exchange/platform/database/database.ts'],
  ['exchange/features.ts', 'exchange/operations/retention/feature.ts'],
  ['activities/exchange/index.ts', 'exchange/features.ts'],
  ['orchestrator/bulk-onboarding/dd.ts', 'shared/blobs/blob-store.ts'],
  [
    'workflows/exchange/q/ee.ts',
    'exchange/queries/network-query/rules/query-status.ts',
  ],
  ['workflows/exchange/q/ff.ts', 'contract/temporal.ts'],
  ['workflows/exchange/q/gg.ts', 'temporal/search-attributes.ts'],
  ['workflows/exchange/q/hh.ts', 'activities/exchange/network-query.ts'],
  ['workflows/orchestrator/p/jj.ts', 'activities/orchestrator/endpoints.ts'],
  ['workflows/exchange/q/jl.ts', 'workflows/shared/work-in-pages.ts'],
  [
    'workflows/index.ts',
    'workflows/exchange/queries/network-query/workflow.ts',
  ],
  ['activities/exchange/kk.ts', 'exchange/platform/database/database.ts'],
  ['lib/ll.ts', 'config.ts'],
  ['config/lm.ts', 'lib/time-zone.ts'],
  ['worker.ts', 'orchestrator/client/exchange-client.ts'],
  ['starter/commands/ma.ts', 'local-stack/simulator/client.ts'],
  ['tools/simulator/mb.ts', 'local-stack/simulator/faults.ts'],
  ['tools/embedded/mm.ts', 'exchange/operations/admin/seed.ts'],
  ['tools/cluster/mn.ts', 'tools/embedded/open-stack.ts'],
  ['tools/demo/mo.ts', 'tools/cluster/cluster.ts'],
  ['bench/merge/mp.ts', 'exchange/records/record-merge.ts'],
  ['bench/merge/mp.ts', 'test/support/stack.ts'],
  ['bench/merge/mp.ts', 'tools/embedded/postgres.ts'],
  ['bench/merge/mp.ts', 'tools/simulator/samples.ts'],
  [
    'packages/person-matching/src/nn.ts',
    'packages/person-matching/src/match-score.ts',
  ],
  ['exchange/people/patients/rules/oo.ts', '#person-matching'],
  ['exchange/people/patients/patient-store.ts', '#person-matching'],
];

const isPackage = (imported: string): boolean => !/\.ts$/.test(imported);

describe('the import direction', () => {
  test.each(FORBIDDEN)('%s may not import %s', (file, imported) => {
    expect(refusal(file, imported, isPackage(imported))).toBeDefined();
  });
  test.each(ALLOWED)('%s may import %s', (file, imported) => {
    expect(refusal(file, imported, isPackage(imported))).toBeUndefined();
  });
  test('holds in every file', () => {
    expect(refusedImports()).toEqual([]);
  });
});

describe('a package imports what its package.json names', () => {
  const manifest = {
    dependencies: { zod: '4', '@medplum/core': '4', '@types/fhir': '0' },
    devDependencies: { vitest: '4' },
  };
  const source = 'packages/a/src/index.ts';
  const testFile = 'packages/a/test/a.test.ts';

  test.each([
    [source, 'zod'],
    [source, '@medplum/core/dist/x.js'],
    [source, 'fhir/r4.js'],
    [source, 'node:crypto'],
    [testFile, 'vitest'],
    [testFile, 'zod'],
  ])('%s may import %s', (file, imported) => {
    expect(undeclared(file, imported, manifest)).toBeUndefined();
  });

  test.each([
    [source, 'kysely'],
    [source, '@medplum/fhirtypes'],
    [source, 'vitest'],
    [testFile, 'fast-check'],
  ])('%s may not import %s', (file, imported) => {
    expect(undeclared(file, imported, manifest)).toBeDefined();
  });
});

describe('files that import each other', () => {
  test('are found in a circle of any length, whatever else imports them', () => {
    const imports = new Map([
      ['a', ['b']],
      ['b', ['c', 'end']],
      ['c', ['end', 'd']],
      ['d', ['b']],
      ['end', []],
    ]);
    expect(circleIn(imports)).toEqual(['b', 'c', 'd']);
    expect(circleIn(new Map([...imports, ['d', ['end']]]))).toBeUndefined();
  });
  test('do not exist in src', () => {
    expect(importCircle()).toEqual([]);
  });
});
