import {
  type CohortSettings,
  cohortSettingsSchema,
  type UpdateCohortBody,
} from '../../../../contract/cohorts.ts';

/**
 * Merges a change into settings recursively; absent members stay as they are
 * (docs/interface.md, Cohort).
 */
export function mergeCohortSettings(
  known: CohortSettings,
  change: UpdateCohortBody['settings'],
): CohortSettings {
  return cohortSettingsSchema.parse(merge(known, change ?? {}));
}

type Tree = { readonly [name: string]: unknown };

function merge(known: Tree, change: Tree): Tree {
  const merged: Record<string, unknown> = { ...known };
  for (const [name, value] of Object.entries(change)) {
    if (value === undefined) continue;
    const before = merged[name];
    merged[name] =
      isTree(value) && isTree(before) ? merge(before, value) : value;
  }
  return merged;
}

const isTree = (value: unknown): value is Tree =>
  value !== null && typeof value === 'object';
