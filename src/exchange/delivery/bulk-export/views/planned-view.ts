import type { Json } from '#record-summary/fhir';
import { compileView } from '#sql-on-fhir';
import { isViewType, type PlannedView } from '../rules/view-run.ts';
import { storedType } from './table-file.ts';

/**
 * Checks a definition, and says what its table will be.
 *
 * @throws ViewError in one sentence
 */
export function planView(definition: Json): PlannedView {
  const { name, resource, key, columns } = compileView(definition, isViewType);
  return {
    name,
    resource,
    definition,
    key,
    columns: columns.map((column) => ({
      name: column.name,
      type: column.type ?? 'string',
      collection: column.isCollection,
      stored: storedType(column),
    })),
  };
}
