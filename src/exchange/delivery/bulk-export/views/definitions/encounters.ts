import { notUnderstood, type ReadyView } from './ready-view.ts';

export const ENCOUNTERS_VIEW = {
  resourceType: 'ViewDefinition',
  id: 'encounters',
  name: 'encounters',
  status: 'active',
  title: 'Encounters: visits and stays, one row each',
  resource: 'Encounter',
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
        { name: 'class_code', path: 'class.code', type: 'code' },
        {
          name: 'type_system',
          path: 'type.first().coding.first().system',
          type: 'uri',
        },
        {
          name: 'type_code',
          path: 'type.first().coding.first().code',
          type: 'code',
        },
        {
          name: 'type_text',
          path: 'iif(type.first().text.exists(), type.first().text, type.first().coding.display.first())',
          type: 'string',
        },
        { name: 'started_at', path: 'period.start', type: 'dateTime' },
        { name: 'ended_at', path: 'period.end', type: 'dateTime' },
        {
          name: 'reason_code',
          path: 'reasonCode.coding.first().code',
          type: 'code',
        },
        {
          name: 'reason_text',
          path: 'reasonCode.text.first()',
          type: 'string',
        },
        {
          name: 'discharge_code',
          path: 'hospitalization.dischargeDisposition.coding.first().code',
          type: 'code',
        },
        {
          name: 'location_id',
          path: 'location.first().location.getReferenceKey(Location)',
          type: 'id',
        },
        {
          name: 'provider_id',
          path: 'serviceProvider.getReferenceKey(Organization)',
          type: 'id',
        },
        { name: 'last_updated', path: 'meta.lastUpdated', type: 'instant' },
        notUnderstood(
          'statusHistory',
          'classHistory',
          'participant',
          'diagnosis',
          'hospitalization',
          'location',
        ),
      ],
    },
  ],
} satisfies ReadyView;
