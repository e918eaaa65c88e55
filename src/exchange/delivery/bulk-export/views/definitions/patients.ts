import { notUnderstood, type ReadyView } from './ready-view.ts';

export const PATIENTS_VIEW = {
  resourceType: 'ViewDefinition',
  id: 'patients',
  name: 'patients',
  status: 'active',
  title: 'Patients: one row each, with the demographics of the record',
  resource: 'Patient',
  select: [
    {
      column: [
        { name: 'id', path: 'getResourceKey()', type: 'id' },
        { name: 'birth_date', path: 'birthDate', type: 'date' },
        {
          name: 'age_group',
          path: "extension('urn:medical-exchange:age-group').value.first()",
          type: 'code',
        },
        { name: 'gender', path: 'gender', type: 'code' },
        {
          name: 'is_deceased',
          path: 'iif(deceased.ofType(dateTime).exists(), true, deceased.ofType(boolean))',
          type: 'boolean',
        },
        {
          name: 'deceased_at',
          path: 'deceased.ofType(dateTime)',
          type: 'dateTime',
        },
        {
          name: 'family_name',
          path: "iif(name.where(use = 'official').exists(), name.where(use = 'official').first().family, name.first().family)",
          type: 'string',
        },
        {
          name: 'given_names',
          path: "iif(name.where(use = 'official').exists(), name.where(use = 'official').first().given.join(' '), name.first().given.join(' '))",
          type: 'string',
        },
        { name: 'city', path: 'address.first().city', type: 'string' },
        { name: 'state', path: 'address.first().state', type: 'string' },
        {
          name: 'postal_code',
          path: 'address.first().postalCode',
          type: 'string',
        },
        {
          name: 'phone',
          path: "telecom.where(system = 'phone').first().value",
          type: 'string',
        },
        {
          name: 'email',
          path: "telecom.where(system = 'email').first().value",
          type: 'string',
        },
        {
          name: 'marital_status_code',
          path: 'maritalStatus.coding.first().code',
          type: 'code',
        },
        { name: 'last_updated', path: 'meta.lastUpdated', type: 'instant' },
        notUnderstood('contact', 'communication', 'link'),
      ],
    },
  ],
} satisfies ReadyView;
