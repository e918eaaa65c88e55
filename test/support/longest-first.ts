import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that last long for their size, longest first: they kill parts, start
 * several stacks, compare pictures, or wait for servers while others compute.
 */
const LONGEST = [
  'faults/',
  'system/starter',
  'system/s3-blob-store',
  'system/demo',
  'system/embedded-stack',
  'system/privacy',
  'system/readme',
  'pages/summary-pictures',
  'system/embedded-postgres',
  'system/embedded-backup',
  'unit/fuzz/growth',
  'workflows/two-builds',
  'workflows/patient-onboarding-continue',
  'workflows/forgotten-person',
  'integration/s3-audit-heads',
  'integration/source-login',
  'workflows/restores',
  'workflows/network-query-control',
];

/**
 * Without an earlier run, as in a clean clone, vitest begins with the largest
 * files. Those that last longest would then begin last, while the other workers
 * have nothing left to do.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(
    files: TestSpecification[],
  ): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const path = moduleId.replaceAll('\\', '/');
      const index = LONGEST.findIndex((name) => path.includes(`/test/${name}`));
      return index < 0 ? LONGEST.length : index;
    };
    return sorted.toSorted((left, right) => place(left) - place(right));
  }
}
