import type { FhirResource } from 'fhir/r4.js';
import type { SourceContext } from '../source-context.ts';
import type { TakenContents } from './attachments.ts';
import type { Plan, Step, StepOf } from './plan.ts';
import { resourceTypesOf } from './resource-types.ts';

/** Limits the names kept in the cursor, which is stored with each page. */
const REMEMBERED_MAX = 5_000;

/**
 * The searches for a patient's documents as IHE MHD has them (ITI-67), one for each status: MHD demands the parameter, with
 * one value. Superseded documents are listed too, so that one that was current in an earlier query does not stay so.
 */
export function documentSearches(parameter: string, value: string): StepOf<'search'>[] {
  return (['current', 'superseded'] as const).map((status) => ({
    ...{ kind: 'search', type: 'DocumentReference', parameter, value, status },
  }));
}

/** The same beside `$everything`, if the server has them: a gateway to a document network may leave documents out there. */
export async function documentSearchesBesides(
  context: SourceContext,
  patientId: string,
): Promise<StepOf<'search'>[]> {
  const { documentSearch } = await context.capabilities.read();
  const areAsked = resourceTypesOf(context.config.source).clinical.includes('DocumentReference');
  return documentSearch && areAsked ? documentSearches('patient', `Patient/${patientId}`) : [];
}

/** The document search that a step belongs to, as its first page or a further one. */
const searchOf = (step: Step): StepOf<'search'> | undefined => {
  const search = step.kind === 'link' ? step.origin : step;
  return search?.kind === 'search' && search.status !== undefined ? search : undefined;
};

/**
 * What is taken of the contents of a step's documents. Of a document search: nothing of a document that an earlier page
 * contained (`$everything` may have brought the same), and of a superseded one only what the list itself contains, because a
 * responder answers 410 for it (ITI-68).
 */
export function contentsTakenBy(plan: Plan, step: Step): (document: FhirResource) => TakenContents {
  const search = searchOf(step);
  if (search === undefined) return () => 'all';
  const known = new Set(plan.documents);
  return (document) => {
    if (document.id === undefined || known.has(document.id)) return 'none';
    // A server may ignore the parameter.
    const isSuperseded =
      search.status === 'superseded' || ('status' in document && document.status === 'superseded');
    return isSuperseded ? 'inline' : 'all';
  };
}

/** The ids of the documents that the plan's pages contained so far, as long as a document search may contain them again. */
export function withDocuments(plan: Plan, resources: FhirResource[]): string[] | undefined {
  if (!plan.steps.some((step) => searchOf(step) !== undefined)) return undefined;
  const found = resources.flatMap(({ resourceType, id }) =>
    resourceType === 'DocumentReference' && id !== undefined ? [id] : [],
  );
  return [...new Set([...(plan.documents ?? []), ...found])].slice(0, REMEMBERED_MAX);
}
