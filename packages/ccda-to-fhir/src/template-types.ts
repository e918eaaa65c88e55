import type {
  AllergyIntolerance,
  AllergyIntoleranceReaction,
  Annotation,
  CareTeam,
  CareTeamParticipant,
  Communication,
  CommunicationPayload,
  CommunicationRequest,
  Condition,
  ConditionEvidence,
  Coverage,
  Device,
  DeviceDeviceName,
  DeviceUseStatement,
  DocumentReference,
  Encounter,
  EncounterLocation,
  EncounterParticipant,
  FamilyMemberHistory,
  FamilyMemberHistoryCondition,
  Goal,
  GoalTarget,
  Immunization,
  ImmunizationPerformer,
  ImmunizationReaction,
  Location,
  Medication,
  MedicationAdministration,
  MedicationDispense,
  MedicationDispensePerformer,
  MedicationIngredient,
  MedicationRequest,
  MedicationRequestDispenseRequest,
  MedicationStatement,
  Observation,
  Organization,
  Patient,
  PatientCommunication,
  PatientContact,
  Practitioner,
  PractitionerQualification,
  Procedure,
  ServiceRequest,
  Specimen,
  SupplyDelivery,
} from 'fhir/r4.js';

/** What each template makes: a resource of FHIR, or a part of one. */
export interface MadeByTemplate {
  AllergyIntolerance: AllergyIntolerance;
  Reaction: AllergyIntoleranceReaction;
  Annotation: Annotation;
  Condition: Condition;
  Evidence: ConditionEvidence;
  MedicationStatement: MedicationStatement;
  MedicationRequest: MedicationRequest;
  SupplyOrder: MedicationRequest;
  DispenseRequest: MedicationRequestDispenseRequest;
  MedicationDispense: MedicationDispense;
  Performer: MedicationDispensePerformer;
  FunctionPerformer: ImmunizationPerformer;
  MedicationAdministration: MedicationAdministration;
  Medication: Medication;
  Vehicle: MedicationIngredient;
  Immunization: Immunization;
  VaccineReaction: ImmunizationReaction;
  Procedure: Procedure;
  ServiceRequest: ServiceRequest;
  Encounter: Encounter;
  EncounterParticipant: EncounterParticipant;
  EncounterLocation: EncounterLocation;
  Observation: Observation;
  /** What a panel of vital signs and a DiagnosticReport have in common. */
  Panel: Observation;
  Specimen: Specimen;
  Remark: Annotation;
  /** The date is moved into the target. */
  Goal: Goal & Pick<GoalTarget, 'dueDate'>;
  FamilyMemberHistory: FamilyMemberHistory;
  FamilyCondition: FamilyMemberHistoryCondition;
  Coverage: Coverage;
  CareTeam: CareTeam;
  CareTeamMember: CareTeamParticipant;
  Communication: Communication;
  CommunicationRequest: CommunicationRequest;
  Payload: CommunicationPayload;
  DocumentReference: DocumentReference;
  DeviceUseStatement: DeviceUseStatement;
  SupplyDelivery: SupplyDelivery;
  Organization: Organization;
  Practitioner: Practitioner;
  Qualification: PractitionerQualification;
  Location: Location;
  Device: Device;
  DeviceName: DeviceDeviceName;
  /** What the organizer of a unique device identifier says of a device. */
  DeviceFacts: Device;
  BrandName: DeviceDeviceName;
  Patient: Patient;
  Contact: PatientContact;
  Guardian: PatientContact;
  Language: PatientCommunication;
}

export type TemplateName = keyof MadeByTemplate;

/** The templates of resources. */
export type ResourceTemplateName = {
  [Name in TemplateName]: MadeByTemplate[Name] extends { resourceType: string }
    ? Name
    : never;
}[TemplateName];

/** The elements of a type of FHIR; `a.b` is one within another. */
export type NestedElement<Type> =
  | (keyof Type & string)
  | {
      [Outer in keyof Type & string]: `${Outer}.${InnerOf<Type[Outer]>}`;
    }[keyof Type & string];

type InnerOf<Element> = Element extends readonly unknown[]
  ? never
  : Element extends object
    ? keyof Element & string
    : never;

/** What a template has made: any of the elements, and no others. */
export type Mapped<Name extends TemplateName> = {
  [Element in KeyOfEach<MadeByTemplate[Name]>]?: unknown;
};

type KeyOfEach<Type> = Type extends unknown ? keyof Type : never;
