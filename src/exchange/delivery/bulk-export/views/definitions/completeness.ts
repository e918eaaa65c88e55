import type { ReadyView } from './ready-view.ts';

export const COMPLETENESS_VIEW = {
  resourceType: 'ViewDefinition',
  id: 'completeness',
  name: 'completeness',
  status: 'active',
  title:
    'Completeness: how far each source was asked for a patient, one row for each patient and source',
  resource: 'RecordCompleteness',
  select: [
    {
      column: [
        { name: 'id', path: 'getResourceKey()', type: 'id' },
        {
          name: 'patient_id',
          path: 'subject.getReferenceKey(Patient)',
          type: 'id',
        },
        { name: 'is_complete', path: 'isComplete', type: 'boolean' },
        { name: 'why', path: 'sentence', type: 'string' },
        { name: 'withheld', path: 'withheld', type: 'unsignedInt' },
      ],
    },
    {
      forEach: 'source',
      column: [
        { name: 'source', path: 'source', type: 'code' },
        { name: 'state', path: 'state', type: 'code' },
        { name: 'last_attempted', path: 'lastAttempted', type: 'instant' },
        { name: 'last_completed', path: 'lastCompleted', type: 'instant' },
        { name: 'reason', path: 'reason', type: 'string' },
        { name: 'resources', path: 'resources', type: 'unsignedInt' },
        {
          name: 'resources_from_documents',
          path: 'fromDocuments',
          type: 'unsignedInt',
        },
        { name: 'documents', path: 'documents', type: 'unsignedInt' },
        {
          name: 'omissions',
          path: 'omissions',
          type: 'string',
          collection: true,
        },
      ],
    },
  ],
} satisfies ReadyView;
