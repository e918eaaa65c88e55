import { describesAnother, describesPerson } from '#person-matching';
import type { Demographics } from '../../people/patients/rules/demographics.ts';
import type { Store } from '../../platform/database/database.ts';
import { retireBroughtBy } from '../../records/merge/retirement-store.ts';
import type { SourcePage } from '../../sources/connectors/connector.ts';
import {
  heldCandidate,
  type ReadPatient,
  sourcePatient,
} from '../../sources/connectors/patient/choose-candidates.ts';
import type { SourceWork } from './attempt-store.ts';
import { reviewOf } from './source-candidate-store.ts';

/**
 * Whether a page has another person under an id that the source gave for ours:
 * each Patient is matched again, because a server may answer so after it had
 * found the right person. Such a Patient is noted for a person to decide, and
 * what this query has stored of the connection is retired: it may be that
 * person's. A Patient on whom a person has decided is no other one.
 */
export async function isOfAnotherPerson(
  store: Pick<Store, 'asAccount'>,
  on: SourceWork,
  page: Pick<SourcePage, 'resources'>,
): Promise<boolean> {
  const { step, work } = on;
  const { namespace } = step.part;
  const others = page.resources.flatMap((resource) => {
    const patient = sourcePatient(resource);
    return patient !== undefined && isAnother(work.demographics, patient)
      ? [{ ...patient, id: patient.id.slice(namespace.length) }]
      : [];
  });
  if (others.length === 0) return false;

  const { review, undecided } = await store.asAccount(
    step.accountId,
    async (tx) => {
      const decisions = await reviewOf(tx, store, step, work.patientId);
      const open = others.filter(({ id }) => !decisions.decided.get(id));
      if (open.length > 0) await retireBroughtBy(tx, step, work.patientId);
      return { review: decisions, undecided: open };
    },
  );
  if (undecided.length === 0) return false;

  await review.note(
    undecided.map((patient) =>
      heldCandidate(work.demographics, patient, new Set()),
    ),
  );
  return true;
}

/** Stricter than at first: what is not stated contradicts nothing. */
const isAnother = (ours: Demographics, patient: ReadPatient): boolean =>
  !describesPerson(ours, patient) && describesAnother(ours, patient);
