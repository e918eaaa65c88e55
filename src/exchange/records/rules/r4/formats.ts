/**
 * The formats of FHIR R4's data types that JSON writes as text or number
 * (R4, section 2.24.0.1).
 */
type Format =
  | 'date'
  | 'dateTime'
  | 'instant'
  | 'time'
  | 'integer'
  | 'positiveInt'
  | 'unsignedInt';

/**
 * Elements of these data types, by HL7's definitions of R4; of dateTime only
 * those whose name does not say it.
 */
const ELEMENTS_BY_FORMAT = {
  dateTime: [
    'AdverseEvent.date',
    'AdverseEvent.detected',
    'AdverseEvent.recordedDate',
    'AllergyIntolerance.lastOccurrence',
    'AllergyIntolerance.recordedDate',
    'AllergyIntoleranceReaction.onset',
    'Annotation.time',
    'Appointment.created',
    'Attachment.creation',
    'CarePlan.created',
    'Claim.created',
    'ClaimProcedure.date',
    'ClinicalImpression.date',
    'Communication.received',
    'Communication.sent',
    'CommunicationRequest.authoredOn',
    'Composition.date',
    'CompositionAttester.time',
    'Condition.recordedDate',
    'Consent.dateTime',
    'ConsentVerification.verificationDate',
    'DetectedIssueMitigation.date',
    'Device.expirationDate',
    'Device.manufactureDate',
    'DeviceRequest.authoredOn',
    'DeviceUseStatement.recordedOn',
    'ExplanationOfBenefit.created',
    'ExplanationOfBenefitProcedure.date',
    'FamilyMemberHistory.date',
    'ImagingStudy.started',
    'ImagingStudySeries.started',
    'Immunization.recorded',
    'ImmunizationEducation.presentationDate',
    'ImmunizationEducation.publicationDate',
    'ImmunizationEvaluation.date',
    'ImmunizationReaction.date',
    'ImmunizationRecommendation.date',
    'ImmunizationRecommendationRecommendationDateCriterion.value',
    'List.date',
    'ListEntry.date',
    'MedicationBatch.expirationDate',
    'MedicationDispense.whenHandedOver',
    'MedicationDispense.whenPrepared',
    'MedicationRequest.authoredOn',
    'MedicationStatement.dateAsserted',
    'NutritionOrder.dateTime',
    'Period.end',
    'Period.start',
    'QuestionnaireResponse.authored',
    'ServiceRequest.authoredOn',
    'Specimen.receivedTime',
    'SubstanceInstance.expiry',
    'SupplyRequest.authoredOn',
    'Task.authoredOn',
    'Task.lastModified',
    'Timing.event',
    'VisionPrescription.created',
    'VisionPrescription.dateWritten',
  ],
  date: [
    'ClaimAccident.date',
    'ClaimItem.servicedDate',
    'ClaimSupportingInfo.timingDate',
    'ExplanationOfBenefitAccident.date',
    'ExplanationOfBenefitAddItem.servicedDate',
    'ExplanationOfBenefitItem.servicedDate',
    'ExplanationOfBenefitPayment.date',
    'ExplanationOfBenefitSupportingInfo.timingDate',
    'Extension.valueDate',
    'FamilyMemberHistory.bornDate',
    'FamilyMemberHistory.deceasedDate',
    'Goal.startDate',
    'Goal.statusDate',
    'GoalTarget.dueDate',
    'Immunization.expirationDate',
    'Patient.birthDate',
    'Practitioner.birthDate',
    'QuestionnaireResponseItemAnswer.valueDate',
    'RelatedPerson.birthDate',
    'TaskInput.valueDate',
    'TaskOutput.valueDate',
    'TriggerDefinition.timingDate',
  ],
  instant: [
    'Appointment.end',
    'Appointment.start',
    'DiagnosticReport.issued',
    'DocumentReference.date',
    'Extension.valueInstant',
    'Media.issued',
    'Meta.lastUpdated',
    'Observation.effectiveInstant',
    'Observation.issued',
    'Provenance.recorded',
    'Signature.when',
    'TaskInput.valueInstant',
    'TaskOutput.valueInstant',
  ],
  time: [
    'Extension.valueTime',
    'HealthcareServiceAvailableTime.availableEndTime',
    'HealthcareServiceAvailableTime.availableStartTime',
    'LocationHoursOfOperation.closingTime',
    'LocationHoursOfOperation.openingTime',
    'Observation.valueTime',
    'ObservationComponent.valueTime',
    'PractitionerRoleAvailableTime.availableEndTime',
    'PractitionerRoleAvailableTime.availableStartTime',
    'QuestionnaireResponseItemAnswer.valueTime',
    'TaskInput.valueTime',
    'TaskOutput.valueTime',
    'TimingRepeat.timeOfDay',
  ],
  integer: [
    'Dosage.sequence',
    'Extension.valueInteger',
    'GoalTarget.detailInteger',
    'Observation.valueInteger',
    'ObservationComponent.valueInteger',
    'ParameterDefinition.min',
    'Patient.multipleBirthInteger',
    'QuestionnaireResponseItemAnswer.valueInteger',
    'TaskInput.valueInteger',
    'TaskOutput.valueInteger',
    'VisionPrescriptionLensSpecification.axis',
  ],
  positiveInt: [
    'Appointment.minutesDuration',
    'ClaimCareTeam.sequence',
    'ClaimDiagnosis.sequence',
    'ClaimInsurance.sequence',
    'ClaimItem.careTeamSequence',
    'ClaimItem.diagnosisSequence',
    'ClaimItem.informationSequence',
    'ClaimItem.procedureSequence',
    'ClaimItem.sequence',
    'ClaimItemDetail.sequence',
    'ClaimItemDetailSubDetail.sequence',
    'ClaimProcedure.sequence',
    'ClaimSupportingInfo.sequence',
    'ContactPoint.rank',
    'Coverage.order',
    'DataRequirement.limit',
    'EncounterDiagnosis.rank',
    'EpisodeOfCareDiagnosis.rank',
    'ExplanationOfBenefit.precedence',
    'ExplanationOfBenefitAddItem.detailSequence',
    'ExplanationOfBenefitAddItem.itemSequence',
    'ExplanationOfBenefitAddItem.noteNumber',
    'ExplanationOfBenefitAddItem.subDetailSequence',
    'ExplanationOfBenefitAddItemDetail.noteNumber',
    'ExplanationOfBenefitAddItemDetailSubDetail.noteNumber',
    'ExplanationOfBenefitCareTeam.sequence',
    'ExplanationOfBenefitDiagnosis.sequence',
    'ExplanationOfBenefitItem.careTeamSequence',
    'ExplanationOfBenefitItem.diagnosisSequence',
    'ExplanationOfBenefitItem.informationSequence',
    'ExplanationOfBenefitItem.noteNumber',
    'ExplanationOfBenefitItem.procedureSequence',
    'ExplanationOfBenefitItem.sequence',
    'ExplanationOfBenefitItemDetail.noteNumber',
    'ExplanationOfBenefitItemDetail.sequence',
    'ExplanationOfBenefitItemDetailSubDetail.noteNumber',
    'ExplanationOfBenefitItemDetailSubDetail.sequence',
    'ExplanationOfBenefitProcedure.sequence',
    'ExplanationOfBenefitProcessNote.number',
    'ExplanationOfBenefitSupportingInfo.sequence',
    'Extension.valuePositiveInt',
    'ImmunizationEvaluation.doseNumberPositiveInt',
    'ImmunizationEvaluation.seriesDosesPositiveInt',
    'ImmunizationProtocolApplied.doseNumberPositiveInt',
    'ImmunizationProtocolApplied.seriesDosesPositiveInt',
    'ImmunizationRecommendationRecommendation.doseNumberPositiveInt',
    'ImmunizationRecommendationRecommendation.seriesDosesPositiveInt',
    'Media.frames',
    'Media.height',
    'Media.width',
    'SampledData.dimensions',
    'TaskInput.valuePositiveInt',
    'TaskOutput.valuePositiveInt',
    'TaskRestriction.repetitions',
    'TimingRepeat.count',
    'TimingRepeat.countMax',
    'TimingRepeat.frequency',
    'TimingRepeat.frequencyMax',
  ],
  unsignedInt: [
    'Appointment.priority',
    'Attachment.size',
    'ExplanationOfBenefitBenefitBalanceFinancial.allowedUnsignedInt',
    'ExplanationOfBenefitBenefitBalanceFinancial.usedUnsignedInt',
    'Extension.valueUnsignedInt',
    'ImagingStudy.numberOfInstances',
    'ImagingStudy.numberOfSeries',
    'ImagingStudySeries.number',
    'ImagingStudySeries.numberOfInstances',
    'ImagingStudySeriesInstance.number',
    'MedicationRequestDispenseRequest.numberOfRepeatsAllowed',
    'TaskInput.valueUnsignedInt',
    'TaskOutput.valueUnsignedInt',
    'TimingRepeat.offset',
  ],
} satisfies Record<Format, readonly string[]>;

const FORMAT_OF: ReadonlyMap<string, Format> = new Map(
  Object.entries(ELEMENTS_BY_FORMAT).flatMap(([format, places]) =>
    places.map((place) => [place, format as Format] as const),
  ),
);

const DATE = /^\d{4}(?:-\d\d(?:-\d\d)?)?$/;
const INSTANT =
  /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?$/;

/**
 * Finds what is wrong with a value by the format of its element's data type;
 * undefined: the element has no such format.
 *
 * @param place `Type.element`
 */
export function formatFaultOf(
  place: string,
): ((value: unknown) => string | undefined) | undefined {
  const format =
    FORMAT_OF.get(place) ??
    (place.endsWith('DateTime') ? 'dateTime' : undefined);
  if (format === undefined) return undefined;
  const isWrong = FAULTS[format];
  return (value) => (isWrong(value) ? WRONG[format] : undefined);
}

const isNumber = (value: unknown): value is number => typeof value === 'number';
const textOf = (value: unknown): string => String(value);

/** Whether a value is not of the format. */
const FAULTS: Readonly<Record<Format, (value: unknown) => boolean>> = {
  date: (value) => !isDate(textOf(value)),
  dateTime: (value) => !isDate(textOf(value)) && !isInstant(textOf(value)),
  instant: (value) => !isInstant(textOf(value)),
  time: (value) => !TIME.test(textOf(value)),
  integer: (value) => !(isNumber(value) && Number.isInteger(value)),
  positiveInt: (value) =>
    !(isNumber(value) && Number.isInteger(value) && value > 0),
  unsignedInt: (value) =>
    !(isNumber(value) && Number.isInteger(value) && value >= 0),
};

const WRONG: Readonly<Record<Format, string>> = {
  date: 'must be a day, month or year of the calendar, such as 2026-05-01',
  dateTime:
    'must be a day, month or year of the calendar, or a time with seconds and zone, such as 2026-05-01T10:00:00Z',
  instant: 'must be a time with seconds and zone, such as 2026-05-01T10:00:00Z',
  time: 'must be a time of day, such as 10:00:00',
  integer: 'must be a whole number',
  positiveInt: 'must be a whole number above 0',
  unsignedInt: 'must be a whole number, 0 or above',
};

const isDate = (text: string): boolean => DATE.test(text) && isOfCalendar(text);

const isInstant = (text: string): boolean =>
  INSTANT.test(text) && isOfCalendar(text.slice(0, 10));

/** Whether there is the month and the day: 2026-02-30 is none. */
function isOfCalendar(date: string): boolean {
  if (date.length === 4) return true;
  const month = Number(date.slice(5, 7));
  if (month < 1 || month > 12) return false;
  const day = date.length === 7 ? 1 : Number(date.slice(8, 10));
  return (
    day >= 1 && (day <= 28 || day <= daysOf(Number(date.slice(0, 4)), month))
  );
}

const daysOf = (year: number, month: number): number =>
  new Date(Date.UTC(year < 100 ? year + 400 : year, month, 0)).getUTCDate();
