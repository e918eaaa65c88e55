import { notUnderstood, type ReadyView } from './ready-view.ts';

export const RESULTS_VIEW = {
  resourceType: 'ViewDefinition',
  id: 'results',
  name: 'results',
  status: 'active',
  title:
    'Results: laboratory results, vital signs and other observations, one row for each value',
  resource: 'Observation',
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
          name: 'category',
          path: 'category.coding.first().code',
          type: 'code',
        },
        {
          name: 'loinc_code',
          path: "code.coding.where(system = 'http://loinc.org').code.first()",
          type: 'code',
        },
        {
          name: 'result_system',
          path: 'code.coding.first().system',
          type: 'uri',
        },
        { name: 'result_code', path: 'code.coding.first().code', type: 'code' },
        {
          name: 'result_text',
          path: 'iif(code.text.exists(), code.text, code.coding.display.first())',
          type: 'string',
        },
        {
          name: 'effective_at',
          path: 'iif(effective.ofType(dateTime).exists(), effective.ofType(dateTime), iif(effective.ofType(Period).exists(), effective.ofType(Period).start, effective.ofType(instant)))',
          type: 'dateTime',
        },
        { name: 'issued', path: 'issued', type: 'instant' },
        { name: 'last_updated', path: 'meta.lastUpdated', type: 'instant' },
        notUnderstood('referenceRange', 'component'),
      ],
    },
    {
      unionAll: [
        {
          forEach: '$this.where(value.exists() or component.empty())',
          column: [
            { name: 'component_code', path: '{}', type: 'code' },
            {
              name: 'value_quantity',
              path: 'value.ofType(Quantity).value',
              type: 'decimal',
            },
            {
              name: 'value_unit',
              path: 'iif(value.ofType(Quantity).code.exists(), value.ofType(Quantity).code, value.ofType(Quantity).unit)',
              type: 'string',
            },
            {
              name: 'value_code',
              path: 'value.ofType(CodeableConcept).coding.first().code',
              type: 'code',
            },
            {
              name: 'value_text',
              path: 'iif(value.ofType(string).exists(), value.ofType(string), value.ofType(CodeableConcept).text)',
              type: 'string',
            },
            {
              name: 'value_at',
              path: 'value.ofType(dateTime)',
              type: 'dateTime',
            },
            {
              name: 'interpretation',
              path: 'interpretation.coding.first().code',
              type: 'code',
            },
            {
              name: 'reference_low',
              path: 'referenceRange.first().low.value',
              type: 'decimal',
            },
            {
              name: 'reference_high',
              path: 'referenceRange.first().high.value',
              type: 'decimal',
            },
          ],
        },
        {
          forEach: 'component',
          column: [
            {
              name: 'component_code',
              path: 'code.coding.first().code',
              type: 'code',
            },
            {
              name: 'value_quantity',
              path: 'value.ofType(Quantity).value',
              type: 'decimal',
            },
            {
              name: 'value_unit',
              path: 'iif(value.ofType(Quantity).code.exists(), value.ofType(Quantity).code, value.ofType(Quantity).unit)',
              type: 'string',
            },
            {
              name: 'value_code',
              path: 'value.ofType(CodeableConcept).coding.first().code',
              type: 'code',
            },
            {
              name: 'value_text',
              path: 'iif(value.ofType(string).exists(), value.ofType(string), value.ofType(CodeableConcept).text)',
              type: 'string',
            },
            {
              name: 'value_at',
              path: 'value.ofType(dateTime)',
              type: 'dateTime',
            },
            {
              name: 'interpretation',
              path: 'interpretation.coding.first().code',
              type: 'code',
            },
            {
              name: 'reference_low',
              path: 'referenceRange.first().low.value',
              type: 'decimal',
            },
            {
              name: 'reference_high',
              path: 'referenceRange.first().high.value',
              type: 'decimal',
            },
          ],
        },
      ],
    },
  ],
} satisfies ReadyView;
