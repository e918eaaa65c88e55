import type { Json } from '#record-summary/fhir';
import { COMPLETENESS_VIEW } from './definitions/completeness.ts';
import { CONDITIONS_VIEW } from './definitions/conditions.ts';
import { DRUGS_VIEW } from './definitions/drugs.ts';
import { ENCOUNTERS_VIEW } from './definitions/encounters.ts';
import { MEDICATION_DISPENSES_VIEW } from './definitions/medication-dispenses.ts';
import { MEDICATION_STATEMENTS_VIEW } from './definitions/medication-statements.ts';
import { MEDICATIONS_VIEW } from './definitions/medications.ts';
import { PATIENTS_VIEW } from './definitions/patients.ts';
import { QUERY_OUTCOMES_VIEW } from './definitions/query-outcomes.ts';
import { RESULTS_VIEW } from './definitions/results.ts';

/** The ready-made views, by id. */
export const READY_VIEWS: ReadonlyMap<string, Json> = new Map(
  [
    COMPLETENESS_VIEW,
    CONDITIONS_VIEW,
    DRUGS_VIEW,
    ENCOUNTERS_VIEW,
    MEDICATION_DISPENSES_VIEW,
    MEDICATION_STATEMENTS_VIEW,
    MEDICATIONS_VIEW,
    PATIENTS_VIEW,
    QUERY_OUTCOMES_VIEW,
    RESULTS_VIEW,
  ].map((view) => [view.id, view]),
);
