import type { ReadyView } from './ready-view.ts';

export const QUERY_OUTCOMES_VIEW = {
  resourceType: 'ViewDefinition',
  id: 'query-outcomes',
  name: 'query_outcomes',
  status: 'active',
  title:
    'Query outcomes: one row for each attempt at a source by a network query',
  resource: 'QueryOutcome',
  select: [
    {
      column: [
        { name: 'id', path: 'getResourceKey()', type: 'id' },
        {
          name: 'patient_id',
          path: 'subject.getReferenceKey(Patient)',
          type: 'id',
        },
        { name: 'status', path: 'status', type: 'code' },
        { name: 'started_at', path: 'startedAt', type: 'instant' },
      ],
    },
    {
      forEachOrNull: 'source',
      column: [
        { name: 'source', path: 'type', type: 'code' },
        { name: 'source_status', path: 'status', type: 'code' },
        { name: 'source_started_at', path: 'startedAt', type: 'instant' },
        { name: 'source_completed_at', path: 'completedAt', type: 'instant' },
        { name: 'reason', path: 'reason', type: 'string' },
      ],
    },
  ],
} satisfies ReadyView;
