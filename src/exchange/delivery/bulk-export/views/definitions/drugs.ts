import { notUnderstood, type ReadyView } from './ready-view.ts';

export const DRUGS_VIEW = {
  resourceType: 'ViewDefinition',
  id: 'drugs',
  name: 'drugs',
  status: 'active',
  title:
    'Drugs that the medications of the other views refer to by medication_id, one row each',
  resource: 'Medication',
  select: [
    {
      column: [
        { name: 'id', path: 'getResourceKey()', type: 'id' },
        {
          name: 'rxnorm_code',
          path: "code.coding.where(system = 'http://www.nlm.nih.gov/research/umls/rxnorm').code.first()",
          type: 'code',
        },
        {
          name: 'drug_system',
          path: 'code.coding.first().system',
          type: 'uri',
        },
        { name: 'drug_code', path: 'code.coding.first().code', type: 'code' },
        {
          name: 'drug_text',
          path: 'iif(code.text.exists(), code.text, code.coding.display.first())',
          type: 'string',
        },
        { name: 'last_updated', path: 'meta.lastUpdated', type: 'instant' },
        { name: 'status', path: 'status', type: 'code' },
        notUnderstood('ingredient', 'batch'),
      ],
    },
  ],
} satisfies ReadyView;
