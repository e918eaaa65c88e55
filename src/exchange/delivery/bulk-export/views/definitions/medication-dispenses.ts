import { notUnderstood, type ReadyView } from './ready-view.ts';

export const MEDICATION_DISPENSES_VIEW = {
  resourceType: 'ViewDefinition',
  id: 'medication-dispenses',
  name: 'medication_dispenses',
  status: 'active',
  title:
    'Medications that a pharmacy handed out (MedicationDispense), one row each',
  resource: 'MedicationDispense',
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
          name: 'request_id',
          path: 'authorizingPrescription.first().getReferenceKey(MedicationRequest)',
          type: 'id',
        },
        { name: 'handed_over_at', path: 'whenHandedOver', type: 'dateTime' },
        { name: 'quantity', path: 'quantity.value', type: 'decimal' },
        { name: 'quantity_unit', path: 'quantity.unit', type: 'string' },
        { name: 'days_supply', path: 'daysSupply.value', type: 'decimal' },
        { name: 'last_updated', path: 'meta.lastUpdated', type: 'instant' },
        notUnderstood(
          'performer',
          'substitution',
          'dosageInstruction',
          'dosageInstruction.timing',
        ),
      ],
    },
  ],
} satisfies ReadyView;
