import { notUnderstood, type ReadyView } from './ready-view.ts';

export const CONDITIONS_VIEW = {
  resourceType: 'ViewDefinition',
  id: 'conditions',
  name: 'conditions',
  status: 'active',
  title: 'Conditions: problems and diagnoses, one row each',
  resource: 'Condition',
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
          path: 'encounter.getReferenceKey(Encounter)',
          type: 'id',
        },
        {
          name: 'clinical_status',
          path: 'clinicalStatus.coding.first().code',
          type: 'code',
        },
        {
          name: 'verification_status',
          path: 'verificationStatus.coding.first().code',
          type: 'code',
        },
        {
          name: 'category',
          path: 'category.coding.first().code',
          type: 'code',
        },
        {
          name: 'snomed_code',
          path: "code.coding.where(system = 'http://snomed.info/sct').code.first()",
          type: 'code',
        },
        {
          name: 'icd10_code',
          path: "code.coding.where(system = 'http://hl7.org/fhir/sid/icd-10-cm').code.first()",
          type: 'code',
        },
        {
          name: 'condition_system',
          path: 'code.coding.first().system',
          type: 'uri',
        },
        {
          name: 'condition_code',
          path: 'code.coding.first().code',
          type: 'code',
        },
        {
          name: 'condition_text',
          path: 'iif(code.text.exists(), code.text, code.coding.display.first())',
          type: 'string',
        },
        { name: 'onset', path: 'onset.ofType(dateTime)', type: 'dateTime' },
        {
          name: 'abatement',
          path: 'abatement.ofType(dateTime)',
          type: 'dateTime',
        },
        { name: 'recorded_date', path: 'recordedDate', type: 'dateTime' },
        { name: 'last_updated', path: 'meta.lastUpdated', type: 'instant' },
        notUnderstood('stage', 'evidence'),
      ],
    },
  ],
} satisfies ReadyView;
