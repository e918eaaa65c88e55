import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that kill take longest, and would else begin last where no earlier run is known, as in a clean clone: then vitest begins
 * with the largest files. The others go on beside them.
 */
export class FaultsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isFault = ({ moduleId }: TestSpecification) => /[\\/]test[\\/]faults[\\/]/.test(moduleId);
    return [...sorted.filter(isFault), ...sorted.filter((file) => !isFault(file))];
  }
}
