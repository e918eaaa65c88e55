import type { CodeableConcept } from 'fhir/r4.js';
import { path } from './cda-path.ts';
import type { Templates } from './table.ts';
import { toFhir } from './transforms.ts';
import { MAPS } from './value-maps.ts';

const COMMENT = path('entryRelationship/act[code=48767-8]');
const REASON = path('entryRelationship[@typeCode=RSON]/observation/value');
const REFUSAL_REASON = path(
  'entryRelationship[@typeCode=RSON]/observation[template=4.53]/code',
);
const AGE_AT_ONSET = path(
  'entryRelationship/observation[code=445518008]/value',
);
const STATUS_VALUE = path('entryRelationship/observation[code=33999-4]/value');
const STATUS_TEXT = path('entryRelationship/observation[code=33999-4]/text');
const PLACE = path('participant[@typeCode=LOC]/participantRole');
const MANUFACTURER = path(
  'consumable/manufacturedProduct/manufacturerOrganization',
);
const LOT_NUMBER = path(
  'consumable/manufacturedProduct/manufacturedMaterial/lotNumberText',
);
const PRODUCT_CODE = path(
  'product/manufacturedProduct/manufacturedMaterial/code',
);

const CLINICAL_NOTE = {
  coding: [
    {
      system:
        'http://hl7.org/fhir/us/core/CodeSystem/us-core-documentreference-category',
      code: 'clinical-note',
      display: 'Clinical Note',
    },
  ],
} satisfies CodeableConcept;

/**
 * How statements of C-CDA become resources of FHIR and their parts, by the pages
 * of HL7's guide "C-CDA on FHIR".
 */
export const TEMPLATES = {
  // Allergies and problems.
  AllergyIntolerance: {
    page: 'Allergies',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      [
        path('effectiveTime/high'),
        'extension',
        toFhir.timeExtension(
          'http://hl7.org/fhir/StructureDefinition/allergyintolerance-abatement',
        ),
      ],
      [STATUS_VALUE, 'clinicalStatus', toFhir.codeOrWords(MAPS.AllergyStatus)],
      [STATUS_TEXT, 'clinicalStatus', toFhir.codeOrWords(MAPS.AllergyStatus)],
      ['value', 'type', toFhir.code(MAPS.AllergyIntoleranceType)],
      ['value', 'category', toFhir.codes(MAPS.AllergyIntoleranceCategory)],
      [
        path('entryRelationship/observation[code=82606-5]/value'),
        'criticality',
        toFhir.code(MAPS.Criticality),
      ],
      ['.', 'patient', toFhir.patient],
      ['effectiveTime', 'onsetDateTime', toFhir.time],
      [path('effectiveTime/low'), 'onsetDateTime', toFhir.time],
      ['.', 'recordedDate', toFhir.authored],
      ['.', 'recorder', toFhir.author],
      [COMMENT, 'note', toFhir.parts('Annotation')],
      ['.', 'reaction', toFhir.reactions],
    ],
  },
  Reaction: {
    page: 'Allergies',
    rows: [
      ['value', 'manifestation', toFhir.concepts],
      ['text', 'manifestation', toFhir.wordsAsConcepts],
      ['effectiveTime', 'onset', toFhir.time],
      [path('effectiveTime/low'), 'onset', toFhir.time],
      ['.', 'severity', toFhir.severity],
      ['.', 'description', toFhir.severityInWords],
      [COMMENT, 'note', toFhir.parts('Annotation')],
    ],
  },
  Annotation: {
    page: 'mapping guidance, Comment to Annotation',
    required: ['text'],
    rows: [
      ['text', 'text', toFhir.text],
      ['.', 'time', toFhir.authored],
      ['.', 'authorReference', toFhir.author],
    ],
  },
  Condition: {
    page: 'Problems',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      [
        path('entryRelationship/act[code=77975-1]/effectiveTime'),
        'extension',
        toFhir.timeExtension(
          'http://hl7.org/fhir/StructureDefinition/condition-assertedDate',
        ),
      ],
      [STATUS_VALUE, 'clinicalStatus', toFhir.codeOrWords(MAPS.ProblemStatus)],
      [STATUS_TEXT, 'clinicalStatus', toFhir.codeOrWords(MAPS.ProblemStatus)],
      [
        path('entryRelationship/observation[code=SEV]/value'),
        'severity',
        toFhir.concept,
      ],
      [
        path('entryRelationship/observation[template=4.8]/value'),
        'severity',
        toFhir.concept,
      ],
      ['value', 'code', toFhir.concept],
      ['text', 'code', toFhir.wordsAsConcept],
      ['targetSiteCode', 'bodySite', toFhir.concepts],
      ['.', 'subject', toFhir.patient],
      ['effectiveTime', 'onsetDateTime', toFhir.time],
      [path('effectiveTime/low'), 'onsetDateTime', toFhir.time],
      [AGE_AT_ONSET, 'onsetAge', toFhir.age],
      [path('effectiveTime/high'), 'abatementDateTime', toFhir.time],
      ['.', 'recordedDate', toFhir.authored],
      ['.', 'recorder', toFhir.author],
      [
        path('entryRelationship[@typeCode=SPRT]/observation'),
        'evidence',
        toFhir.parts('Evidence'),
      ],
      [COMMENT, 'note', toFhir.parts('Annotation')],
    ],
  },
  Evidence: {
    page: 'Problems',
    rows: [['.', 'detail', toFhir.observations]],
  },

  // Medications and immunizations.
  MedicationStatement: {
    page: 'Medications (the guide has no consensus for what was taken)',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.drugStatus],
      ['.', 'subject', toFhir.patient],
      ['effectiveTime', 'effectiveDateTime', toFhir.drugTime],
      ['effectiveTime', 'effectivePeriod', toFhir.drugPeriod],
      ['.', 'dateAsserted', toFhir.authored],
      ['.', 'informationSource', toFhir.author],
      [REASON, 'reasonCode', toFhir.concepts],
      [COMMENT, 'note', toFhir.parts('Annotation')],
      ['.', 'dosage', toFhir.dosages],
    ],
  },
  MedicationRequest: {
    page: 'Medications',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.drugStatus],
      [REFUSAL_REASON, 'statusReason', toFhir.concept],
      ['.', 'intent', toFhir.intent],
      ['.', 'subject', toFhir.patient],
      ['.', 'authoredOn', toFhir.authored],
      ['.', 'requester', toFhir.author],
      ['performer', 'requester', toFhir.performer],
      [REASON, 'reasonCode', toFhir.concepts],
      [COMMENT, 'note', toFhir.parts('Annotation')],
      ['.', 'dosageInstruction', toFhir.dosages],
      [
        path('entryRelationship/supply[@moodCode=INT|RQO]'),
        'dispenseRequest',
        toFhir.part('DispenseRequest'),
      ],
    ],
  },
  SupplyOrder: {
    page: 'Medications, Supply Order',
    type: 'MedicationRequest',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.drugStatus],
      ['.', 'intent', toFhir.intent],
      ['.', 'subject', toFhir.patient],
      ['.', 'authoredOn', toFhir.authored],
      ['.', 'requester', toFhir.author],
      ['.', 'dispenseRequest', toFhir.part('DispenseRequest')],
    ],
  },
  DispenseRequest: {
    page: 'Medications, Supply Order',
    rows: [
      ['effectiveTime', 'validityPeriod', toFhir.period],
      ['repeatNumber', 'numberOfRepeatsAllowed', toFhir.repeats],
      ['quantity', 'quantity', toFhir.quantity],
    ],
  },
  MedicationDispense: {
    page: 'none (Medication Dispense)',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.status(MAPS.DispenseStatus, 'unknown')],
      ['.', 'subject', toFhir.patient],
      ['performer', 'performer', toFhir.parts('Performer')],
      ['quantity', 'quantity', toFhir.quantity],
      ['effectiveTime', 'whenHandedOver', toFhir.beginning],
      [COMMENT, 'note', toFhir.parts('Annotation')],
    ],
  },
  Performer: {
    page: 'Participations',
    required: ['actor'],
    rows: [['.', 'actor', toFhir.performer]],
  },
  FunctionPerformer: {
    page: 'Participations',
    required: ['actor'],
    rows: [
      ['functionCode', 'function', toFhir.concept],
      ['.', 'actor', toFhir.performer],
    ],
  },
  MedicationAdministration: {
    page: 'none (Medications Administered Section)',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.status(MAPS.AdministrationStatus, 'unknown')],
      ['.', 'subject', toFhir.patient],
      ['effectiveTime', 'effectiveDateTime', toFhir.drugTime],
      ['effectiveTime', 'effectivePeriod', toFhir.drugPeriod],
      ['performer', 'performer', toFhir.parts('FunctionPerformer')],
      [REASON, 'reasonCode', toFhir.concepts],
      [COMMENT, 'note', toFhir.parts('Annotation')],
      ['.', 'dosage', toFhir.dosageGiven],
    ],
  },
  Medication: {
    page: 'Medications',
    rows: [
      ['administrationUnitCode', 'form', toFhir.concept],
      [MANUFACTURER, 'manufacturer', toFhir.organization],
      [
        path('participant[@typeCode=CSM]/participantRole'),
        'ingredient',
        toFhir.parts('Vehicle'),
      ],
      [LOT_NUMBER, 'batch.lotNumber', toFhir.text],
    ],
  },
  Vehicle: {
    page: 'Medications, Drug Vehicle',
    required: ['itemCodeableConcept'],
    rows: [
      [path('playingEntity/code'), 'itemCodeableConcept', toFhir.concept],
      ['code', 'itemCodeableConcept', toFhir.concept],
      ['.', 'isActive', toFhir.fixed(false)],
    ],
  },
  Immunization: {
    page: 'Immunizations',
    required: ['vaccineCode'],
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.status(MAPS.ImmunizationStatus, 'completed')],
      [REFUSAL_REASON, 'statusReason', toFhir.concept],
      [
        path(
          'entryRelationship[@typeCode=RSON]/observation[code=IMMUNE|MEDPREC|OSTOCK|PATOBJ|PHILISOP|RELIG|VACEFF|VACSAF]/code',
        ),
        'statusReason',
        toFhir.concept,
      ],
      ['.', 'vaccineCode', toFhir.drug],
      ['.', 'patient', toFhir.patient],
      ['effectiveTime', 'occurrenceDateTime', toFhir.beginning],
      ['.', 'recorded', toFhir.authored],
      ['.', '_primarySource', toFhir.absent],
      [MANUFACTURER, 'manufacturer', toFhir.organization],
      [LOT_NUMBER, 'lotNumber', toFhir.text],
      ['approachSiteCode', 'site', toFhir.concept],
      ['routeCode', 'route', toFhir.concept],
      ['doseQuantity', 'doseQuantity', toFhir.dose],
      ['performer', 'performer', toFhir.parts('FunctionPerformer')],
      [REASON, 'reasonCode', toFhir.concepts],
      [
        path('entryRelationship[@typeCode=MFST]/observation'),
        'reaction',
        toFhir.parts('VaccineReaction'),
      ],
      [
        path('entryRelationship/observation[code=30973-2]/value'),
        'protocolApplied',
        toFhir.doseNumbers,
      ],
      [
        path('entryRelationship[@typeCode=COMP]/sequenceNumber'),
        'protocolApplied',
        toFhir.doseNumbers,
      ],
      ['repeatNumber', 'protocolApplied', toFhir.doseNumbers],
      [COMMENT, 'note', toFhir.parts('Annotation')],
    ],
  },
  VaccineReaction: {
    page: 'Immunizations',
    required: ['detail'],
    rows: [
      [path('effectiveTime/low'), 'date', toFhir.time],
      ['.', 'detail', toFhir.observation],
    ],
  },

  // Procedures, orders and encounters.
  Procedure: {
    page: 'Procedures',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.status(MAPS.ProcedureStatus, 'unknown')],
      ['code', 'code', toFhir.concept],
      ['text', 'code', toFhir.wordsAsConcept],
      ['.', 'code', toFhir.absent],
      ['.', 'subject', toFhir.patient],
      ['effectiveTime', 'performedDateTime', toFhir.moment],
      ['effectiveTime', 'performedPeriod', toFhir.periodUnlessMoment],
      ['.', 'recorder', toFhir.author],
      ['performer', 'performer', toFhir.parts('FunctionPerformer')],
      [PLACE, 'location', toFhir.location],
      [REASON, 'reasonCode', toFhir.concepts],
      ['targetSiteCode', 'bodySite', toFhir.concepts],
      ['value', 'outcome', toFhir.concept],
      [
        path(
          'entryRelationship[@typeCode=COMP]/observation[template=4.9]/value',
        ),
        'complication',
        toFhir.concepts,
      ],
      ['.', 'usedReference', toFhir.devices],
      [COMMENT, 'note', toFhir.parts('Annotation')],
    ],
  },
  ServiceRequest: {
    page: 'none (planned procedures, tests, visits, supplies and referrals)',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.status(MAPS.RequestStatus, 'active')],
      ['.', 'intent', toFhir.intent],
      ['code', 'code', toFhir.concept],
      [PRODUCT_CODE, 'code', toFhir.concept],
      ['text', 'code', toFhir.wordsAsConcept],
      ['.', 'code', toFhir.absent],
      ['quantity', 'quantityQuantity', toFhir.quantity],
      ['priorityCode', 'priority', toFhir.code(MAPS.Priority)],
      ['.', 'subject', toFhir.patient],
      ['effectiveTime', 'occurrenceDateTime', toFhir.moment],
      ['effectiveTime', 'occurrencePeriod', toFhir.periodUnlessMoment],
      ['.', 'authoredOn', toFhir.authored],
      ['.', 'requester', toFhir.author],
      ['performer', 'performer', toFhir.performers],
      [PLACE, 'locationReference', toFhir.locations],
      [REASON, 'reasonCode', toFhir.concepts],
      ['targetSiteCode', 'bodySite', toFhir.concepts],
      [COMMENT, 'note', toFhir.parts('Annotation')],
    ],
  },
  Encounter: {
    page: 'Encounters',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['code', 'type', toFhir.concepts],
      ['text', 'type', toFhir.wordsAsConcepts],
      ['.', 'subject', toFhir.patient],
      ['performer', 'participant', toFhir.parts('EncounterParticipant')],
      ['effectiveTime', 'period', toFhir.period],
      [
        'dischargeDispositionCode',
        'hospitalization.dischargeDisposition',
        toFhir.concept,
      ],
      [
        path('participant[@typeCode=LOC]'),
        'location',
        toFhir.parts('EncounterLocation'),
      ],
    ],
  },
  EncounterParticipant: {
    page: 'Encounters, Participations',
    required: ['individual'],
    rows: [
      ['functionCode', 'type', toFhir.concepts],
      ['time', 'period', toFhir.period],
      ['.', 'individual', toFhir.performer],
    ],
  },
  EncounterLocation: {
    page: 'Encounters, Participations',
    required: ['location'],
    rows: [
      ['participantRole', 'location', toFhir.location],
      ['time', 'period', toFhir.period],
    ],
  },

  // Results, vital signs, goals and family history.
  Observation: {
    page: 'Results, Vital Signs, Social History',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['code', 'code', toFhir.concept],
      ['text', 'code', toFhir.wordsAsConcept],
      ['.', 'code', toFhir.absent],
      ['.', 'subject', toFhir.patient],
      ['effectiveTime', 'effectiveDateTime', toFhir.moment],
      ['effectiveTime', 'effectivePeriod', toFhir.periodUnlessMoment],
      ['performer', 'performer', toFhir.performers],
      ['.', 'performer', toFhir.authors],
      ['interpretationCode', 'interpretation', toFhir.interpretations],
      ['targetSiteCode', 'bodySite', toFhir.concept],
      ['methodCode', 'method', toFhir.concept],
      [path('specimen/specimenRole'), 'specimen', toFhir.specimen],
      [
        path('referenceRange/observationRange'),
        'referenceRange',
        toFhir.referenceRanges,
      ],
      [COMMENT, 'note', toFhir.parts('Annotation')],
    ],
  },
  Panel: {
    page: 'Results, Vital Signs',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['code', 'code', toFhir.concept],
      ['.', 'subject', toFhir.patient],
      ['effectiveTime', 'effectiveDateTime', toFhir.moment],
      ['effectiveTime', 'effectivePeriod', toFhir.periodUnlessMoment],
      ['performer', 'performer', toFhir.performers],
      ['.', 'performer', toFhir.authors],
      [path('specimen/specimenRole'), 'specimen', toFhir.specimens],
      [
        path('component/procedure[code=17636008]/participant/participantRole'),
        'specimen',
        toFhir.specimens,
      ],
    ],
  },
  Specimen: {
    page: 'Results',
    required: ['type'],
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      [path('specimenPlayingEntity/code'), 'type', toFhir.concept],
      [path('playingEntity/code'), 'type', toFhir.concept],
      [path('specimenPlayingEntity/name'), 'type', toFhir.wordsAsConcept],
      ['.', 'subject', toFhir.patient],
      [
        path('specimenPlayingEntity/quantity'),
        'collection.quantity',
        toFhir.quantity,
      ],
      [path('specimenPlayingEntity/desc'), 'note', toFhir.parts('Remark')],
    ],
  },
  Remark: {
    page: 'Results',
    required: ['text'],
    rows: [['.', 'text', toFhir.text]],
  },
  Goal: {
    page: 'none (Goal Observation)',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'lifecycleStatus', toFhir.status(MAPS.GoalStatus, 'proposed')],
      ['code', 'description', toFhir.concept],
      ['text', 'description', toFhir.wordsAsConcept],
      ['.', 'description', toFhir.absent],
      ['.', 'subject', toFhir.patient],
      ['effectiveTime', 'startDate', toFhir.day],
      [path('effectiveTime/low'), 'startDate', toFhir.day],
      [path('effectiveTime/center'), 'startDate', toFhir.day],
      [path('effectiveTime/high'), 'dueDate', toFhir.day],
      ['.', 'expressedBy', toFhir.author],
      [COMMENT, 'note', toFhir.parts('Annotation')],
    ],
  },
  FamilyMemberHistory: {
    page: 'none (Family History Organizer)',
    required: ['relationship'],
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.fixed('completed')],
      ['.', 'patient', toFhir.patient],
      [path('subject/relatedSubject/subject/name'), 'name', toFhir.nameText],
      [path('subject/relatedSubject/code'), 'relationship', toFhir.concept],
      [
        path('subject/relatedSubject/subject/administrativeGenderCode'),
        'sex',
        toFhir.genderConcept,
      ],
      [
        path('subject/relatedSubject/subject/birthTime'),
        'bornDate',
        toFhir.day,
      ],
      [
        path('subject/relatedSubject/subject/deceasedTime'),
        'deceasedDate',
        toFhir.day,
      ],
      [
        path('subject/relatedSubject/subject/deceasedInd'),
        'deceasedBoolean',
        toFhir.boolean,
      ],
      [
        path('component/observation'),
        'condition',
        toFhir.parts('FamilyCondition'),
      ],
    ],
  },
  FamilyCondition: {
    page: 'none (Family History Observation)',
    required: ['code'],
    rows: [
      ['value', 'code', toFhir.concept],
      [
        path('entryRelationship[@typeCode=CAUS]/observation'),
        'contributedToDeath',
        toFhir.fixed(true),
      ],
      [AGE_AT_ONSET, 'onsetAge', toFhir.age],
    ],
  },

  // Coverage, care teams, instructions, notes and supplies.
  Coverage: {
    page: 'none (Policy Activity)',
    required: ['payor'],
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.status(MAPS.CoverageStatus, 'active')],
      ['code', 'type', toFhir.concept],
      [
        path('participant[@typeCode=HLD]/participantRole/id'),
        'subscriberId',
        toFhir.idExtension,
      ],
      [
        path('participant[@typeCode=COV]/participantRole/id'),
        'subscriberId',
        toFhir.idExtension,
      ],
      ['.', 'beneficiary', toFhir.patient],
      [
        path('participant[@typeCode=COV]/participantRole/code'),
        'relationship',
        toFhir.concept,
      ],
      [path('participant[@typeCode=COV]/time'), 'period', toFhir.period],
      [path('performer[template=4.87]'), 'payor', toFhir.performers],
      ['performer', 'payor', toFhir.performers],
      ['code', 'payor', toFhir.namedReferences],
    ],
  },
  CareTeam: {
    page: 'none (Care Team Organizer)',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.status(MAPS.CareTeamStatus)],
      [path('code/originalText'), 'name', toFhir.text],
      ['.', 'subject', toFhir.patient],
      ['effectiveTime', 'period', toFhir.period],
      [
        path('component/act/performer'),
        'participant',
        toFhir.parts('CareTeamMember'),
      ],
    ],
  },
  CareTeamMember: {
    page: 'none (Care Team Member Act)',
    required: ['member'],
    rows: [
      ['functionCode', 'role', toFhir.concepts],
      ['.', 'member', toFhir.performer],
      ['time', 'period', toFhir.period],
    ],
  },
  Communication: {
    page: 'none (Instruction)',
    required: ['payload'],
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.status(MAPS.CommunicationStatus, 'completed')],
      ['.', 'subject', toFhir.patient],
      ['code', 'topic', toFhir.concept],
      ['.', 'payload', toFhir.parts('Payload')],
    ],
  },
  CommunicationRequest: {
    page: 'none (Instruction)',
    required: ['payload'],
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.status(MAPS.RequestStatus, 'unknown')],
      ['.', 'subject', toFhir.patient],
      ['code', 'reasonCode', toFhir.concepts],
      ['.', 'payload', toFhir.parts('Payload')],
    ],
  },
  Payload: {
    page: 'none (Instruction)',
    required: ['contentString'],
    rows: [
      ['text', 'contentString', toFhir.words],
      ['code', 'contentString', toFhir.text],
    ],
  },
  DocumentReference: {
    page: 'Notes',
    required: ['content'],
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.fixed('current')],
      [path('code/translation'), 'type', toFhir.concept],
      ['code', 'type', toFhir.concept],
      ['.', 'category', toFhir.fixed([CLINICAL_NOTE])],
      ['.', 'subject', toFhir.patient],
      ['.', 'date', toFhir.authoredInstant],
      ['.', 'author', toFhir.authors],
      ['title', 'description', toFhir.text],
      ['text', 'content', toFhir.attachments],
      ['effectiveTime', 'context.period', toFhir.period],
    ],
  },
  DeviceUseStatement: {
    page: 'none (Non-Medicinal Supply Activity, Procedure Activity)',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.status(MAPS.DeviceUseStatus, 'unknown')],
      ['.', 'subject', toFhir.patient],
      ['effectiveTime', 'timingPeriod', toFhir.period],
      [REASON, 'reasonCode', toFhir.concepts],
      ['targetSiteCode', 'bodySite', toFhir.concept],
      [COMMENT, 'note', toFhir.parts('Annotation')],
    ],
  },
  SupplyDelivery: {
    page: 'none (Non-Medicinal Supply Activity)',
    required: ['suppliedItem'],
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['.', 'status', toFhir.status(MAPS.SupplyStatus)],
      ['.', 'patient', toFhir.patient],
      [PRODUCT_CODE, 'suppliedItem.itemCodeableConcept', toFhir.concept],
      ['code', 'suppliedItem.itemCodeableConcept', toFhir.concept],
      ['text', 'suppliedItem.itemCodeableConcept', toFhir.wordsAsConcept],
      ['quantity', 'suppliedItem.quantity', toFhir.quantity],
      ['effectiveTime', 'occurrenceDateTime', toFhir.beginning],
    ],
  },

  // Participations and the patient.
  Organization: {
    page: 'Participations',
    required: ['name'],
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['standardIndustryClassCode', 'type', toFhir.concepts],
      ['name', 'name', toFhir.text],
      ['desc', 'name', toFhir.text],
      ['telecom', 'telecom', toFhir.telecoms],
      ['addr', 'address', toFhir.addresses],
    ],
  },
  Practitioner: {
    page: 'Participations',
    required: ['name'],
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      [path('assignedPerson/name'), 'name', toFhir.names],
      [path('associatedPerson/name'), 'name', toFhir.names],
      [path('playingEntity/name'), 'name', toFhir.names],
      ['telecom', 'telecom', toFhir.telecoms],
      ['addr', 'address', toFhir.addresses],
      ['code', 'qualification', toFhir.parts('Qualification')],
    ],
  },
  Qualification: {
    page: 'Participations',
    required: ['code'],
    rows: [['.', 'code', toFhir.concept]],
  },
  Location: {
    page: 'Participations',
    required: ['name'],
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      [path('playingEntity/name'), 'name', toFhir.text],
      [path('location/name'), 'name', toFhir.text],
      ['code', 'name', toFhir.conceptText],
      ['code', 'type', toFhir.concepts],
      ['telecom', 'telecom', toFhir.telecoms],
      ['addr', 'address', toFhir.address],
      [path('location/addr'), 'address', toFhir.address],
      [
        'serviceProviderOrganization',
        'managingOrganization',
        toFhir.organization,
      ],
    ],
  },
  Device: {
    page: 'none (Product Instance)',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      ['id', 'udiCarrier', toFhir.udiCarriers],
      [path('scopingEntity/desc'), 'manufacturer', toFhir.text],
      [
        path('playingDevice/manufacturerModelName'),
        'deviceName',
        toFhir.parts('DeviceName'),
      ],
      [path('playingDevice/code'), 'type', toFhir.concept],
      ['.', 'patient', toFhir.patient],
    ],
  },
  DeviceName: {
    page: 'none (Product Instance)',
    required: ['name'],
    rows: [
      ['.', 'name', toFhir.text],
      ['.', 'type', toFhir.fixed('model-name')],
    ],
  },
  DeviceFacts: {
    page: 'none (UDI Organizer)',
    type: 'Device',
    rows: [
      [
        path('component/observation[code=C160939]/value'),
        'status',
        toFhir.codeOrWords(MAPS.DeviceStatus),
      ],
      [
        path('component/observation[code=C54131]/value'),
        'manufacturer',
        toFhir.text,
      ],
      [
        path('component/observation[code=C101669]/value'),
        'manufactureDate',
        toFhir.time,
      ],
      [
        path('component/observation[code=C101670]/value'),
        'expirationDate',
        toFhir.time,
      ],
      [
        path('component/observation[code=C101672]/value'),
        'lotNumber',
        toFhir.text,
      ],
      [
        path('component/observation[code=C101671]/value'),
        'serialNumber',
        toFhir.text,
      ],
      [
        path('component/observation[code=C113843]/value'),
        'distinctIdentifier',
        toFhir.text,
      ],
      [
        path('component/observation[code=C99285]/value'),
        'modelNumber',
        toFhir.text,
      ],
      [
        path('component/observation[code=C99286]/value'),
        'partNumber',
        toFhir.text,
      ],
      [
        path('component/observation[code=C71898]/value'),
        'deviceName',
        toFhir.parts('BrandName'),
      ],
      [
        path('component/observation[code=C106044|C160938]/value'),
        'safety',
        toFhir.concepts,
      ],
    ],
  },
  BrandName: {
    page: 'none (UDI Organizer)',
    required: ['name'],
    rows: [
      ['.', 'name', toFhir.text],
      ['.', 'type', toFhir.fixed('user-friendly-name')],
    ],
  },
  Patient: {
    page: 'Patient',
    rows: [
      ['id', 'identifier', toFhir.identifiers],
      [
        path('patient/ethnicGroupCode'),
        'extension',
        toFhir.ombExtension('ethnicity'),
      ],
      [path('patient/raceCode'), 'extension', toFhir.ombExtension('race')],
      [
        path('patient/birthplace/place/addr'),
        'extension',
        toFhir.addressExtension(
          'http://hl7.org/fhir/StructureDefinition/patient-birthPlace',
        ),
      ],
      [
        path('patient/religiousAffiliationCode'),
        'extension',
        toFhir.conceptExtension(
          'http://hl7.org/fhir/StructureDefinition/patient-religion',
        ),
      ],
      [path('patient/name'), 'name', toFhir.names],
      ['telecom', 'telecom', toFhir.telecoms],
      [
        path('patient/administrativeGenderCode'),
        'gender',
        toFhir.code(MAPS.AdministrativeGender),
      ],
      [path('patient/birthTime'), 'birthDate', toFhir.day],
      [path('patient/deceasedTime'), 'deceasedDateTime', toFhir.day],
      [path('patient/deceasedInd'), 'deceasedBoolean', toFhir.boolean],
      ['addr', 'address', toFhir.addresses],
      [path('patient/maritalStatusCode'), 'maritalStatus', toFhir.concept],
      [path('patient/guardian'), 'contact', toFhir.parts('Guardian')],
      [
        path('patient/languageCommunication'),
        'communication',
        toFhir.parts('Language'),
      ],
      ['providerOrganization', 'managingOrganization', toFhir.organization],
    ],
  },
  Contact: {
    page: 'Patient (participants of the header)',
    required: ['name'],
    rows: [
      ['.', 'relationship', toFhir.contactRoles],
      [path('associatedPerson/name'), 'name', toFhir.name],
      ['telecom', 'telecom', toFhir.telecoms],
      ['addr', 'address', toFhir.address],
    ],
  },
  Guardian: {
    page: 'Patient',
    required: ['name'],
    rows: [
      ['code', 'relationship', toFhir.concepts],
      [path('guardianPerson/name'), 'name', toFhir.name],
      ['telecom', 'telecom', toFhir.telecoms],
      ['addr', 'address', toFhir.address],
    ],
  },
  Language: {
    page: 'Patient',
    required: ['language'],
    rows: [
      ['languageCode', 'language', toFhir.language],
      ['preferenceInd', 'preferred', toFhir.boolean],
    ],
  },
} satisfies Templates;
