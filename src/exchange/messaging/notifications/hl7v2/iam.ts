import type { ResourceMapping } from './mapped.ts';

/** How an allergy of IAM is read, the newer form of AL1 (HL7 v2.5.1, 3.4.7). */
export const IAM: ResourceMapping & { number: string[] } = {
  resource: {
    resourceType: 'AllergyIntolerance',
    patient: { reference: 'Patient/person' },
    clinicalStatus: {
      coding: [
        {
          system:
            'http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical',
          code: 'active',
        },
      ],
    },
  },
  number: ['IAM-7', 'IAM-3'],
  elements: [
    { to: 'code', from: ['IAM-3'], as: 'concept' },
    {
      to: 'category[]',
      from: ['IAM-2'],
      as: 'code',
      codes: {
        DA: 'medication',
        FA: 'food',
        EA: 'environment',
        AA: 'environment',
        PA: 'environment',
        LA: 'environment',
      },
    },
    {
      to: 'type',
      from: ['IAM-9'],
      as: 'code',
      codes: { AL: 'allergy', IN: 'intolerance' },
    },
    {
      to: 'clinicalStatus.coding[]',
      from: ['IAM-17'],
      as: 'coding',
      system:
        'http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical',
      codes: { I: 'inactive' },
    },
    {
      to: 'verificationStatus.coding[]',
      from: ['IAM-17'],
      as: 'coding',
      system:
        'http://terminology.hl7.org/CodeSystem/allergyintolerance-verification',
      codes: {
        C: 'confirmed',
        I: 'confirmed',
        P: 'unconfirmed',
        S: 'unconfirmed',
        U: 'unconfirmed',
        D: 'unconfirmed',
      },
    },
    {
      to: 'verificationStatus.coding[]',
      from: ['IAM-17'],
      as: 'coding',
      system:
        'http://terminology.hl7.org/CodeSystem/allergyintolerance-verification',
      codes: { E: 'entered-in-error' },
      instead: 'clinicalStatus',
    },
    {
      to: 'verificationStatus.coding[]',
      from: ['IAM-6'],
      as: 'coding',
      system:
        'http://terminology.hl7.org/CodeSystem/allergyintolerance-verification',
      codes: { D: 'entered-in-error' },
      instead: 'clinicalStatus',
    },
    {
      to: 'reaction',
      from: ['IAM-5'],
      unit: 'IAM-4',
      as: 'reactions',
      codes: { SV: 'severe', MO: 'moderate', MI: 'mild' },
    },
    { to: 'onsetDateTime', from: ['IAM-11'], as: 'time' },
    { to: 'recordedDate', from: ['IAM-13', 'IAM-20'], as: 'time' },
    { to: 'note[].text', from: ['IAM-8', 'IAM-12'], as: 'lines' },
  ],
};
