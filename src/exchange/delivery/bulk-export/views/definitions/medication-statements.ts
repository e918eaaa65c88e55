import { notUnderstood, type ReadyView } from './ready-view.ts';

export const MEDICATION_STATEMENTS_VIEW = {
  resourceType: 'ViewDefinition',
  id: 'medication-statements',
  name: 'medication_statements',
  status: 'active',
  title:
    'Medications that somebody reported (MedicationStatement), one row each',
  resource: 'MedicationStatement',
  select: [
    {
      column: [
        { name: 'id', path: 'getResourceKey()', type: 'id' },
        {
          name: 'patient_id',
          path: 'subject.getReferenceKey(Patient)',
          type: 'id',
        },
        {
          name: 'encounter_id',
          path: 'context.getReferenceKey(Encounter)',
          type: 'id',
        },
        { name: 'status', path: 'status', type: 'code' },
        {
          name: 'rxnorm_code',
          path: "medication.ofType(CodeableConcept).coding.where(system = 'http://www.nlm.nih.gov/research/umls/rxnorm').code.first()",
          type: 'code',
        },
        {
          name: 'medication_text',
          path: 'iif(medication.ofType(CodeableConcept).text.exists(), medication.ofType(CodeableConcept).text, medication.ofType(CodeableConcept).coding.display.first())',
          type: 'string',
        },
        {
          name: 'medication_id',
          path: 'medication.ofType(Reference).getReferenceKey(Medication)',
          type: 'id',
        },
        {
          name: 'effective_at',
          path: 'effective.ofType(dateTime)',
          type: 'dateTime',
        },
        {
          name: 'effective_start',
          path: 'effective.ofType(Period).start',
          type: 'dateTime',
        },
        {
          name: 'effective_end',
          path: 'effective.ofType(Period).end',
          type: 'dateTime',
        },
        { name: 'dosage_text', path: 'dosage.first().text', type: 'string' },
        { name: 'last_updated', path: 'meta.lastUpdated', type: 'instant' },
        notUnderstood('dosage', 'dosage.timing'),
      ],
    },
  ],
} satisfies ReadyView;
