import type { FhirResource } from 'fhir/r4.js';
import type { OwnType } from '../../rules/view-run.ts';

/**
 * A ready-made ViewDefinition of SQL on FHIR v2. Its paths are FHIRPath, compiled
 * when a run reads it.
 */
export interface ReadyView {
  resourceType: 'ViewDefinition';
  id: string;
  name: string;
  status: 'active';
  title: string;
  resource: FhirResource['resourceType'] | OwnType;
  select: readonly ReadySelect[];
}

interface ReadySelect {
  forEach?: string;
  forEachOrNull?: string;
  column?: readonly ReadyColumn[];
  select?: readonly ReadySelect[];
  unionAll?: readonly ReadySelect[];
}

interface ReadyColumn {
  name: string;
  path: string;
  type:
    | 'boolean'
    | 'code'
    | 'date'
    | 'dateTime'
    | 'decimal'
    | 'id'
    | 'instant'
    | 'string'
    | 'unsignedInt'
    | 'uri';
  collection?: boolean;
}

/**
 * The column that names a modifier extension of a resource, or of one of its
 * parts: what the row looks like may not be what it means.
 *
 * @param parts the elements of the type that may have one
 */
export const notUnderstood = (...parts: readonly string[]): ReadyColumn => ({
  name: 'not_understood',
  path: `(${['$this', ...parts].map((part) => `${part}.modifierExtension`).join(' | ')}).url.first()`,
  type: 'uri',
});
