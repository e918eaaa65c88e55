import { notUnderstood, type ReadyView } from './ready-view.ts';

export const MEDICATIONS_VIEW = {
  resourceType: 'ViewDefinition',
  id: 'medications',
  name: 'medications',
  status: 'active',
  title:
    'Medications: prescriptions and orders (MedicationRequest), one row each',
  resource: 'MedicationRequest',
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
        { name: 'intent', path: 'intent', type: 'code' },
        { name: 'authored_on', path: 'authoredOn', type: 'dateTime' },
        {
          name: 'reason_code',
          path: 'reasonCode.coding.first().code',
          type: 'code',
        },
        {
          name: 'dosage_text',
          path: 'dosageInstruction.first().text',
          type: 'string',
        },
        {
          name: 'refills',
          path: 'dispenseRequest.numberOfRepeatsAllowed',
          type: 'unsignedInt',
        },
        {
          name: 'quantity',
          path: 'dispenseRequest.quantity.value',
          type: 'decimal',
        },
        {
          name: 'days_supply',
          path: 'dispenseRequest.expectedSupplyDuration.value',
          type: 'decimal',
        },
        { name: 'last_updated', path: 'meta.lastUpdated', type: 'instant' },
        { name: 'do_not_perform', path: 'doNotPerform', type: 'boolean' },
        notUnderstood(
          'dispenseRequest',
          'dispenseRequest.initialFill',
          'substitution',
          'dosageInstruction',
          'dosageInstruction.timing',
        ),
      ],
    },
  ],
} satisfies ReadyView;
